/**
 * The console: asks who is signed in, then shows the sign-in page or the page of the address. Tested by
 * `test/console/shell.test.ts` and `test/console/sessions.test.ts`.
 */
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { GovApiError } from '../../client/errors.ts';
import { holds } from '../../core/credential.ts';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Loading } from '../parts/loading.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { NewProject } from '../projects/page.tsx';
import { ConnectionLine, useBack } from '../browser/connection.tsx';
import { Layout } from './layout.tsx';
import { findPage, NotFound } from './pages.tsx';
import { usePlace } from '../browser/router.ts';
import {
  forgetChosen,
  readSession,
  saveChosen,
  SessionContext,
  type Session,
  type SignedIn,
} from '../browser/session.tsx';
import { takeAnswer, type SignedOutFrom } from './provider.tsx';
import { SignIn, useCode } from './sign-in.tsx';

type State =
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** `hasEnded`: this page had a session before. */
  | { readonly kind: 'signed-out'; readonly hasEnded: boolean }
  | { readonly kind: 'signed-in'; readonly who: SignedIn };

export const App = () => (
  <>
    <ConnectionLine />
    <WithSession />
  </>
);

function WithSession() {
  const [state, setState] = useState<State>({ kind: 'loading' });
  const [code, forgetCode] = useCode();
  const [answer, setAnswer] = useState(takeAnswer);
  const [signedOut, setSignedOut] = useState<SignedOutFrom | null>(null);
  /** `isCalm`: where the answer is no answer, the page stays. */
  const refresh = useCallback(async (isCalm = false): Promise<void> => {
    try {
      const who = await readSession();
      setState((before) =>
        who === null
          ? { kind: 'signed-out', hasEnded: before.kind === 'signed-in' || isEnded(before) }
          : { kind: 'signed-in', who },
      );
    } catch (error) {
      setState((before) => (isCalm && before.kind === 'signed-in' ? before : { kind: 'failed', error }));
    }
  }, []);
  useEffect(() => void refresh(), [refresh]);
  useOtherSession(refresh);
  // a plane forgets its sessions when it restarts
  useBack(() => void refresh(true));
  if (state.kind === 'loading') return <Loading what="the session" />;
  if (state.kind === 'failed') return <Failed error={state.error} retry={() => void refresh()} />;
  if (code !== null || answer !== null || state.kind === 'signed-out') {
    const leave = (): void => {
      forgetCode();
      setAnswer(null);
    };
    const signedIn = (): void => {
      setSignedOut(null);
      tellTabs();
      void refresh().then(leave);
    };
    const stay = state.kind === 'signed-in' ? leave : undefined;
    return <SignIn key={code} {...{ code, answer, signedOut, signedIn, stay }} hasEnded={isEnded(state)} />;
  }
  const { identity, environment, projects } = state.who;
  // what was loaded for one session must not stay in the next
  const key = [environment, identity.id, identity.type === 'person' ? identity.projectId : ''].join(' ');
  const session = { who: state.who, refresh, signedOut: setSignedOut };
  if (projects?.length === 0) return <NoProject {...session} />;
  return <SignedInApp key={key} {...session} />;
}

const isEnded = (state: State): boolean => state.kind === 'signed-out' && state.hasEnded;

const Failed = ({ error, retry }: { readonly error: unknown; readonly retry: () => void }) => (
  <main class="alone">
    <h1>gov console</h1>
    <ErrorBox error={error} retry={retry} />
  </main>
);

interface SessionProps {
  readonly who: SignedIn;
  readonly refresh: () => Promise<void>;
  readonly signedOut: (from: SignedOutFrom) => void;
}

/** For a person whose organization has deleted its last project: every other page would be about one. */
function NoProject(props: SessionProps) {
  const [isAsking, setAsking] = useState(false);
  const session = sessionOf(props);
  const { identity } = session;
  return (
    <SessionContext.Provider value={session}>
      <main class="alone">
        <h1>No project</h1>
        <p>
          <RemoteLine text={identity.organizationName ?? identity.organizationId} /> has no project, so there
          is nothing to show. Create one.
        </p>
        <div class="actions">
          <Button kind="main" onClick={() => setAsking(true)}>
            New project
          </Button>
          <Button onClick={() => void session.signOut()}>Sign out</Button>
        </div>
        {isAsking && <NewProject close={() => setAsking(false)} made={session.chooseProject} />}
      </main>
    </SessionContext.Provider>
  );
}

function SignedInApp({ who, refresh, signedOut }: SessionProps) {
  const place = usePlace();
  const session = useMemo(() => sessionOf({ who, refresh, signedOut }), [who, refresh, signedOut]);
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

function sessionOf({ who, refresh, signedOut }: SessionProps): Session {
  const { client, identity } = who;
  return {
    ...who,
    refresh,
    can: (scope) => holds(identity.scopes, scope),
    async signOut() {
      if (identity.type === 'person') signedOut((await client.signOut()).body);
      else await client.closeConsoleSession();
      forgetChosen();
      tellTabs();
      await refresh();
    },
    chooseProject(project) {
      saveChosen(project);
      void refresh();
    },
  };
}

/** All tabs share one cookie: a tab that named the former session would act with the new one. */
const tabs = new BroadcastChannel('gov-session');
const tellTabs = (): void => tabs.postMessage('changed');

/**
 * Asks again who is signed in: after a call was refused with 401, since the session has ended meanwhile, and after another
 * tab signed in or out.
 */
function useOtherSession(refresh: () => Promise<void>): void {
  useEffect(() => {
    const refused = ({ reason }: PromiseRejectionEvent): void => {
      if (reason instanceof GovApiError && reason.status === 401) void refresh();
    };
    const ended = (): void => void refresh();
    addEventListener('unhandledrejection', refused);
    addEventListener('gov-session-ended', ended);
    tabs.addEventListener('message', ended);
    return () => {
      removeEventListener('unhandledrejection', refused);
      removeEventListener('gov-session-ended', ended);
      tabs.removeEventListener('message', ended);
    };
  }, [refresh]);
}
