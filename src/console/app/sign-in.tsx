/**
 * The sign-in page. On a plane it takes the one-time code of `gov console open` from the fragment of the address, which
 * browsers send to no server. On a service it takes the answer of the identity provider. Tested by
 * `test/console/sessions.test.ts` and `test/console/sign-in.test.ts`.
 */
import { useEffect, useState } from 'preact/hooks';
import { GovApiError } from '../../client/errors.ts';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Loading } from '../parts/loading.tsx';
import { clientOf } from '../browser/api.ts';
import { AtProvider, SignInFault, SignedOut, type Answer, type SignedOutFrom } from './provider.tsx';
import { useLoad } from '../browser/load.ts';

/** The code in the address, which this call removes from it and from the history. */
function takeCode(): string | null {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1] ?? null;
  if (code !== null) history.replaceState(null, '', '#/');
  return code;
}

/** The code of the latest link, and how to forget it. A link also counts where this page is open: it is not loaded again. */
export function useCode(): readonly [code: string | null, forget: () => void] {
  const [code, setCode] = useState(takeCode);
  useEffect(() => {
    const changed = (): void => setCode((before) => takeCode() ?? before);
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return [code, () => setCode(null)];
}

interface SignInProps {
  readonly code: string | null;
  /** What the identity provider sent back. */
  readonly answer: Answer | null;
  /** Set after a person has signed out here. */
  readonly signedOut: SignedOutFrom | null;
  /** Whether this page had a session before. */
  readonly hasEnded: boolean;
  readonly signedIn: () => void;
  /** Returns to the session that is open; absent without one. */
  readonly stay?: (() => void) | undefined;
}

export function SignIn({ code, answer, signedOut, hasEnded, signedIn, stay }: SignInProps) {
  const [error, setError] = useState<unknown>(null);
  const issuer = useLoad(readIssuer, 'issuer');
  useEffect(() => {
    const client = clientOf('production', null);
    if (code !== null) client.openConsoleSession({ body: { code } }).then(signedIn, setError);
    else if (answer !== null) client.finishSignIn({ body: answer }).then(signedIn, setError);
  }, [code, answer]);
  if ((code !== null || answer !== null) && error === null) return <Loading what="the session" />;
  return (
    <main class="alone">
      <h1>Sign in</h1>
      {signedOut !== null && error === null && <SignedOut {...signedOut} />}
      {hasEnded && signedOut === null && error === null && issuer.data !== undefined && (
        <p role="status">
          The session has ended: somebody signed out, nobody used it for an hour, it lasted twelve hours
          {issuer.data === null && ', or the plane restarted'}.
        </p>
      )}
      {error !== null && <SignInFault error={error} />}
      {stay !== undefined && <Button onClick={stay}>Keep the open session</Button>}
      {issuer.data === undefined && issuer.error === null && <Loading what="the way to sign in" />}
      {issuer.error !== null && <ErrorBox error={issuer.error} retry={issuer.reload} />}
      {issuer.data === null && <ByCommand />}
      {typeof issuer.data === 'string' && <AtProvider issuer={issuer.data} isAgain={error !== null} />}
    </main>
  );
}

const ByCommand = () => (
  <>
    <p>Open the console from the command line of the machine that has the key:</p>
    <pre class="code">gov console open</pre>
    <p class="quiet">It opens a link that works once, for two minutes. The key stays on the command line.</p>
  </>
);

/** The identity provider of a service; null on a plane, where keys open the console. */
async function readIssuer(signal: AbortSignal): Promise<string | null> {
  try {
    return (await clientOf('production', null).getAuthConfiguration({ signal })).body.issuer;
  } catch (error) {
    if (error instanceof GovApiError && error.status === 404) return null;
    throw error;
  }
}
