/**
 * The way to the identity provider of a service and back (contract B19). The service exchanges the code; this page only hands
 * it on, and keeps which page was asked for. Tested by `test/console/sign-in.test.ts`.
 */
import { useState } from 'preact/hooks';
import { GovApiError } from '../../client/errors.ts';
import { callbackFile } from '../../contract/auth-words.ts';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { clientOf } from '../browser/api.ts';

const returnKey = 'gov-return';

/** Parameters of the provider's answer. An attacker may write any of them into a link: the service judges them. */
export interface Answer {
  readonly state: string;
  readonly code?: string;
  readonly iss?: string;
  readonly error?: string;
  readonly error_description?: string;
}
const members = ['code', 'iss', 'error', 'error_description'] as const;

/**
 * The answer in the address, which this call removes from it and from the history. Then the address is that of the page that
 * was asked for before: always a fragment of this page, so no answer leads elsewhere.
 */
export function takeAnswer(): Answer | null {
  const [folder, file] = [location.pathname.replace(/[^/]*$/, ''), location.pathname.split('/').at(-1)];
  if (file !== callbackFile) return null;
  const query = new URLSearchParams(location.search);
  const wanted = sessionStorage.getItem(returnKey) ?? '';
  sessionStorage.removeItem(returnKey);
  history.replaceState(null, '', `${folder}${wanted.startsWith('#/') ? wanted : '#/'}`);
  const found = members.flatMap((name) => {
    const value = query.get(name);
    return value === null || value === '' ? [] : [[name, value]];
  });
  // without a state the service refuses it, and says so
  return { ...(Object.fromEntries(found) as Partial<Answer>), state: query.get('state') || '-' };
}

export function AtProvider({ issuer, isAgain }: { readonly issuer: string; readonly isAgain: boolean }) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const begin = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const { body } = await clientOf('production', null).startSignIn();
      sessionStorage.setItem(returnKey, location.hash);
      location.assign(body.authorizationUrl);
    } catch (cause) {
      setError(cause);
    } finally {
      // also on the way out: a browser that comes back may show this page as it left it
      setBusy(false);
    }
  };
  return (
    <>
      <p>
        You sign in at <code>{issuer}</code>, and come back here. This service never sees your password.
      </p>
      {error !== null && <ErrorBox error={error} />}
      <Button kind="main" isBusy={isBusy} onClick={() => void begin()}>
        {isAgain || error !== null ? 'Sign in again' : 'Sign in'}
      </Button>
    </>
  );
}

export interface SignedOutFrom {
  /** Where a person also signs out of the provider; null where it has no such page. */
  readonly providerUrl: string | null;
}

export const SignedOut = ({ providerUrl }: SignedOutFrom) => (
  <div role="status">
    <p>You are signed out of the console.</p>
    {providerUrl !== null && (
      <p>
        On a shared machine also <a href={providerUrl}>sign out at the identity provider</a>.
      </p>
    )}
  </div>
);

/** Why a sign-in failed, and the next step. */
export function SignInFault({ error }: { readonly error: unknown }) {
  const { reason, command } = error instanceof GovApiError ? error.problem : {};
  if (reason !== 'no-account') return <ErrorBox error={error} />;
  return (
    <div role="alert">
      <p>
        <strong>This service has no account of you.</strong> The identity provider signed you in, but nobody
        has signed up under that account. Make one on the command line, then sign in again:
      </p>
      <pre class="code" tabIndex={0}>
        {String(command)}
      </pre>
    </div>
  );
}
