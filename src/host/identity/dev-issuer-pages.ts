/**
 * The pages of the development issuer: plain HTML without scripts.
 */

const page = (content: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sign in (development)</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 26rem; margin: 4rem auto; padding: 0 1rem; }
  label, input, button { display: block; width: 100%; box-sizing: border-box; font: inherit; }
  input { margin: 0.25rem 0 1rem; padding: 0.5rem; }
  button { padding: 0.5rem; }
  .warning { border-left: 4px solid #b45309; padding-left: 0.75rem; }
</style>
${content}
</html>
`;

/** The sign-in form. An attacker may control `userCode`. */
export const signInPage = (userCode: string, fault?: string): string =>
  page(`<h1>Sign in</h1>
<p class="warning">Development issuer: it believes whatever you say. Anybody on this machine can sign in as anybody.</p>
${fault === undefined ? '' : `<p role="alert"><strong>${fault}</strong></p>`}
<form method="post" action="/sign-in">
  <label for="code">Code shown on the device</label>
  <input id="code" name="user_code" value="${/^[A-Z]{4}-[A-Z]{4}$/.test(userCode) ? userCode : ''}" autocomplete="off" required>
  <label for="email">Your e-mail address</label>
  <input id="email" name="email" type="email" autocomplete="email" required>
  <button>Sign in</button>
</form>`);

export const confirmedPage = page(
  '<h1>Signed in</h1>\n<p>Return to the device; you may close this page.</p>',
);
