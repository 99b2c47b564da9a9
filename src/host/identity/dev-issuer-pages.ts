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
<main>
${content}
</main>
</html>
`;

const warning =
  '<p class="warning">Development issuer: it believes whatever you say. Anybody on this machine can sign in as anybody.</p>';

/** The sign-in form of a device. An attacker may control `userCode`. */
export const signInPage = (userCode: string, fault?: string): string =>
  page(`<h1>Sign in</h1>
${warning}
${fault === undefined ? '' : `<p role="alert"><strong>${fault}</strong></p>`}
<form method="post" action="/sign-in">
  <label for="code">Code shown on the device</label>
  <input id="code" name="user_code" value="${/^[A-Z]{4}-[A-Z]{4}$/.test(userCode) ? userCode : ''}" autocomplete="off" required>
  <label for="email">Your e-mail address</label>
  <input id="email" name="email" type="email" autocomplete="email" required>
  <button>Sign in</button>
</form>`);

/** Members of an authorization request that the form sends again. */
const repeated = [
  'client_id',
  'redirect_uri',
  'response_type',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
] as const;

/** The sign-in form of a browser. An attacker may control `request`. `host`: where it leads. */
export const authorizePage = (request: URLSearchParams, host: string, fault?: string): string =>
  page(`<h1>Sign in</h1>
${warning}
${fault === undefined ? '' : `<p role="alert"><strong>${fault}</strong></p>`}
<form method="post" action="/authorize">
  ${repeated
    .filter((name) => request.has(name))
    .map((name) => `<input type="hidden" name="${name}" value="${escaped(request.get(name) ?? '')}">`)
    .join('\n  ')}
  <label for="email">Your e-mail address</label>
  <input id="email" name="email" type="email" autocomplete="email" required autofocus>
  <button>Sign in to ${escaped(host)}</button>
</form>`);

/** For a request that must not be answered to where it came from. */
export const faultPage = (fault: string): string =>
  page(`<h1>This sign-in cannot work</h1>\n<p role="alert">${escaped(fault)}</p>`);

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

export const confirmedPage = page(
  '<h1>Signed in</h1>\n<p>Return to the device; you may close this page.</p>',
);
