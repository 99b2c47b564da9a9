/**
 * The console: asks who is signed in, then shows the sign-in page or the page of the address. Tested by
 * `test/console/shell.test.ts` and `test/console/sessions.test.ts`.
 */
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { GovApiError } from '../../client/errors.ts';
import { holds } from '../../core/credential.ts';
import { ErrorBox } from '../parts/error-box.tsx';
import { Loading } from '../parts/loading.tsx';
import { Layout } from './layout.tsx';
import { findPage, NotFound } from './pages.tsx';
import { usePlace } from './router.ts';
import {
  forgetChosen,
  readSession,
  saveChosen,
  SessionContext,
  type Session,
  type SignedIn,
} from './session.tsx';
import { openByLink, SignIn } from './sign-in.tsx';

type State =
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'signed-out' }
  | { readonly kind: 'signed-in'; readonly who: SignedIn };

export function App() {
  const [state, setState] = useState<State>({ kind: 'loading' });
  const refresh = useCallback(async (): Promise<void> => {
    try {
      await openByLink();
      const who = await readSession();
      setState(who === null ? { kind: 'signed-out' } : { kind: 'signed-in', who });
    } catch (error) {
      setState({ kind: 'failed', error });
    }
  }, []);
  useEffect(() => {
    void refresh();
    // a further link may be opened in the tab of a page that is signed in
    const followed = (): void => {
      if (location.hash.startsWith('#code=')) void refresh();
    };
    addEventListener('hashchange', followed);
    return () => removeEventListener('hashchange', followed);
  }, [refresh]);
  if (state.kind === 'loading') return <Loading what="the session" />;
  if (state.kind === 'failed') return <Failed error={state.error} retry={() => void refresh()} />;
  if (state.kind === 'signed-out') return <SignIn />;
  return <SignedInApp who={state.who} refresh={refresh} />;
}

const Failed = ({ error, retry }: { readonly error: unknown; readonly retry: () => void }) => (
  <main class="alone">
    <h1>gov console</h1>
    <ErrorBox error={error} retry={retry} />
  </main>
);

function SignedInApp({ who, refresh }: { readonly who: SignedIn; readonly refresh: () => Promise<void> }) {
  const place = usePlace();
  const session = useMemo(() => sessionOf(who, refresh), [who, refresh]);
  useEndedSession(refresh);
  const found = findPage(place);
  const title = found?.page.title ?? 'Not found';
  useEffect(() => {
    document.title = `${title} · gov console`;
  }, [title]);
  const Page = found?.page.component ?? NotFound;
  return (
    <SessionContext.Provider value={session}>
      <Layout place={place}>
        <Page key={place.segments.join('/')} params={found?.params ?? {}} query={place.query} />
      </Layout>
    </SessionContext.Provider>
  );
}

function sessionOf(who: SignedIn, refresh: () => Promise<void>): Session {
  const { client, identity } = who;
  return {
    ...who,
    can: (scope) => holds(identity.scopes, scope),
    async signOut() {
      await (identity.type === 'person' ? client.closeSession() : client.closeConsoleSession());
      forgetChosen();
      await refresh();
    },
    chooseProject(project) {
      saveChosen(project);
      void refresh();
    },
  };
}

/** Asks again who is signed in after a call was refused with 401: the session has ended meanwhile. */
function useEndedSession(refresh: () => Promise<void>): void {
  useEffect(() => {
    const refused = ({ reason }: PromiseRejectionEvent): void => {
      if (reason instanceof GovApiError && reason.status === 401) void refresh();
    };
    const ended = (): void => void refresh();
    addEventListener('unhandledrejection', refused);
    addEventListener('gov-session-ended', ended);
    return () => {
      removeEventListener('unhandledrejection', refused);
      removeEventListener('gov-session-ended', ended);
    };
  }, [refresh]);
}
