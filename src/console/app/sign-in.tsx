/**
 * The sign-in page. It takes the one-time code of `gov console open` from the fragment of the address, which browsers
 * send to no server. Tested by `test/console/sessions.test.ts`.
 */
import { useEffect, useState } from 'preact/hooks';
import { ErrorBox } from '../parts/error-box.tsx';
import { Loading } from '../parts/loading.tsx';
import { clientOf } from './api.ts';

/** The code in the address, which this call removes from it and from the history. */
function takeCode(): string | null {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1] ?? null;
  if (code !== null) history.replaceState(null, '', '#/');
  return code;
}

export function SignIn({ signedIn }: { readonly signedIn: () => void }) {
  const [code] = useState(takeCode);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    if (code === null) return;
    clientOf('production', null).openConsoleSession({ body: { code } }).then(signedIn, setError);
  }, [code]);
  if (code !== null && error === null) return <Loading what="the session" />;
  return (
    <main class="alone">
      <h1>Sign in</h1>
      {error !== null && <ErrorBox error={error} />}
      <p>Open the console from the command line of the machine that has the key:</p>
      <pre class="code">gov console open</pre>
      <p class="quiet">
        It prints a link that works once, for two minutes. The key stays on the command line.
      </p>
    </main>
  );
}
