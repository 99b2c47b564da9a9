/**
 * The sign-in page. It takes the one-time code of `gov console open` from the fragment of the address, which browsers
 * send to no server. Tested by `test/console/sessions.test.ts`.
 */
import { GovApiError } from '../../client/errors.ts';
import { ErrorBox } from '../parts/error-box.tsx';
import { Loading } from '../parts/loading.tsx';
import { clientOf } from './api.ts';
import { useLoad } from './load.ts';
import { goTo } from './router.ts';

/** Opens a session by the code in the address, if it has one, and removes it from the address and the history. */
export async function openByLink(): Promise<void> {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code === undefined) return;
  goTo('#/', { replace: true });
  await clientOf('production', null).openConsoleSession({ body: { code } });
}

export function SignIn() {
  const issuer = useLoad(readIssuer, 'issuer');
  return (
    <main class="alone">
      <h1>Sign in</h1>
      {issuer.data === undefined && issuer.error === null && <Loading what="the way to sign in" />}
      {issuer.error !== null && <ErrorBox error={issuer.error} retry={issuer.reload} />}
      {issuer.data === null && <ByCommand />}
      {typeof issuer.data === 'string' && <AtService issuer={issuer.data} />}
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

const AtService = ({ issuer }: { readonly issuer: string }) => (
  <>
    <p>
      People sign in to this service at <code>{issuer}</code>.
    </p>
    <p class="quiet">
      This page cannot start that sign-in yet. It shows the console once your application has opened a session
      with POST /auth/session.
    </p>
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
