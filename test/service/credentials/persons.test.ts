import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { GovError } from '../../../src/contract/problems.ts';
import { Credentials } from '../../../src/service/credentials/callers.ts';
import { createToken, keyDigest } from '../../../src/service/credentials/token-format.ts';
import type { CredentialOptions } from '../../../src/service/credentials/shown.ts';
import { unlimited } from '../../../src/service/call/settings.ts';
import type { StoredSession } from '../../../src/store/port/store.ts';

const projectId = 'prj_01jzzzzzzzzzzzzzzzzzzzzzzz';
const organization = {
  organizationId: 'org_x',
  name: 'X',
  customerId: null,
  home: { production: projectId, sandbox: 'prj_01jzzzzzzzzzzzzzzzzzzzzzzy' },
  createdMs: 0,
};
const user = {
  userId: 'usr_x',
  organizationId: 'org_x',
  issuer: 'https://issuer.example',
  subject: 'ada',
  email: null,
  name: 'Ada',
  createdMs: 0,
};
const stored = {
  project: {
    projectId,
    organizationId: 'org_x',
    environment: 'production',
    auditOrigin: 'a',
    meteringOrigin: 'm',
  },
  name: 'Production',
  settings: '{}',
  quotas: { audit_event: 7 },
  createdMs: 0,
  updatedMs: 0,
  deletedMs: null as number | null,
} as const;

const minutes = (count: number): number => count * 60_000;

/** Credentials over one session, which the test may change; counts what the store and the provider are asked. */
function over(session: Partial<StoredSession> & { token: string }, clock: { ms: number }) {
  const { token, ...members } = session;
  const state = {
    session: {
      digest: keyDigest(token),
      kind: 'browser',
      userId: 'usr_x',
      organizationId: 'org_x',
      createdMs: 0,
      lastUsedMs: 0,
      expiresMs: minutes(720),
      endedMs: null,
      ...members,
    } as StoredSession,
    project: { ...stored, deletedMs: null as number | null },
    sessionsAsked: 0,
    tokensVerified: 0,
  };
  const options: CredentialOptions = {
    now: () => clock.ms,
    seal: { open: (text) => text },
    store: {
      apiKey: async () => null,
      apiKeyOf: async () => null,
      document: async () => null,
      planeOfKey: async () => null,
      session: async (digest) => {
        state.sessionsAsked += 1;
        return Buffer.compare(digest, state.session.digest) === 0
          ? { session: state.session, user, organization }
          : null;
      },
      user: async () => user,
      organization: async () => organization,
      storedProject: async (_, id) => (id === projectId ? state.project : null),
    },
    hosting: {
      quotas: { production: unlimited, sandbox: unlimited },
      identity: {
        configuration: { issuer: user.issuer, clientId: 'x', scopes: [] },
        verify: async () => {
          state.tokensVerified += 1;
          return { issuer: user.issuer, subject: 'ada', email: null, expiresMs: null } as never;
        },
      },
    },
  };
  const credentials = new Credentials(options);
  const identify = async (
    shown: { token?: string; cookie?: string; project?: string },
    needsProject = false,
  ) => {
    const found = credentials.identify(
      { token: null, cookie: null, project: null, ...shown },
      { environment: 'production', needsProject },
    );
    return 'lookUp' in found ? found.lookUp() : found;
  };
  const codeOf = (shown: Parameters<typeof identify>[0]): Promise<string> =>
    identify(shown).then(
      () => 'accepted',
      (error: unknown) => (error instanceof GovError ? error.code : String(error)),
    );
  return { state, credentials, identify, codeOf };
}

describe('a browser’s session', () => {
  const token = randomBytes(32).toString('base64url');

  it('a browser’s session ends after an hour without a call, and not before', async () => {
    const clock = { ms: minutes(limits.sessionIdleMinutes) };
    const { state, codeOf } = over({ token }, clock);
    expect(await codeOf({ cookie: token })).toBe('accepted');
    clock.ms += 1;
    expect(await codeOf({ cookie: token })).toBe('INVALID_CREDENTIAL');
    state.session = { ...state.session, lastUsedMs: clock.ms };
    clock.ms += limits.credentialCacheSeconds * 1000;
    expect(await codeOf({ cookie: token })).toBe('accepted');
  });

  it('a browser’s session ends at its time, however active, and when it is closed', async () => {
    const clock = { ms: minutes(720) - 1 };
    const { codeOf } = over({ token, lastUsedMs: clock.ms }, clock);
    expect(await codeOf({ cookie: token })).toBe('accepted');
    clock.ms += 1;
    expect(await codeOf({ cookie: token })).toBe('INVALID_CREDENTIAL');
    const ended = over({ token, endedMs: 5 }, { ms: 10 });
    expect(await ended.codeOf({ cookie: token })).toBe('INVALID_CREDENTIAL');
  });

  it('a session that another process ended is refused at once, of a browser and of the command line', async () => {
    const cli = createToken('cli', randomBytes);
    for (const [kind, shown] of [
      ['browser', { cookie: token }],
      ['cli', { token: cli }],
    ] as const) {
      const { state, codeOf } = over({ token: kind === 'cli' ? cli : token, kind }, { ms: 1000 });
      for (let at = 0; at < 3; at++) expect(await codeOf(shown)).toBe('accepted');
      expect(state.sessionsAsked).toBe(3);
      state.session = { ...state.session, endedMs: 1000 };
      expect(await codeOf(shown)).toBe('INVALID_CREDENTIAL');
    }
  });

  it('a browser’s session is reported as used once a minute', async () => {
    const clock = { ms: minutes(3) + 7 };
    const { credentials, codeOf } = over({ token }, clock);
    await codeOf({ cookie: token });
    await codeOf({ cookie: token });
    expect(credentials.uses.take()).toEqual([{ digest: keyDigest(token), atMs: minutes(3) }]);
  });
});

describe('a token of the command line', () => {
  it('a token of the command line works until its time, also after a night without a call', async () => {
    const token = createToken('cli', randomBytes);
    const clock = { ms: minutes(719) };
    const { codeOf } = over({ token, kind: 'cli' }, clock);
    expect(await codeOf({ token })).toBe('accepted');
    clock.ms += minutes(1);
    expect(await codeOf({ token })).toBe('INVALID_CREDENTIAL');
  });

  it('a token of the command line with a wrong checksum never reaches the store', async () => {
    const token = createToken('cli', randomBytes);
    const { state, codeOf } = over({ token, kind: 'cli' }, { ms: 0 });
    for (let at = 0; at < token.length; at++) {
      const changed = `${token.slice(0, at)}${token[at] === '0' ? '1' : '0'}${token.slice(at + 1)}`;
      expect(await codeOf({ token: changed })).toBe('INVALID_CREDENTIAL');
    }
    expect(state.sessionsAsked).toBe(0);
  });
});

describe('an ID token', () => {
  it('an ID token is verified once in five seconds', async () => {
    const clock = { ms: 0 };
    const { state, identify } = over({ token: 'x' }, clock);
    for (const ms of [0, 4999, 5000]) {
      clock.ms = ms;
      expect((await identify({ token: 'a.b.c' })).id).toBe('usr_x');
    }
    expect(state.tokensVerified).toBe(2);
  });
});

describe('the project of a person', () => {
  it('the project of a person has its own rules', async () => {
    const { identify } = over({ token: 'x' }, { ms: 0 });
    const caller = await identify({ token: 'a.b.c', project: projectId }, true);
    expect(caller).toMatchObject({ type: 'person', scopes: ['*'], project: { projectId } });
    expect(caller.rules.quotas).toEqual({ ...unlimited, audit_event: 7 });
  });

  it('a deleted project is not found, but stays the home of its organization', async () => {
    const { state, codeOf } = over({ token: 'x' }, { ms: 0 });
    state.project = { ...stored, deletedMs: 1 };
    expect(await codeOf({ token: 'a.b.c', project: projectId })).toBe('NOT_FOUND');
    expect(await codeOf({ token: 'a.b.c' })).toBe('accepted');
  });
});
