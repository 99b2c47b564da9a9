/**
 * The rows that effects on tenants read and write; `src/store/rules/tenants.ts` judges the effects.
 * Proven by `test/store/suite/tenancy/keys.ts` and `test/store/suite/tenancy/projects.ts`.
 */
import type { TenantRows } from '../../rules/tenants.ts';
import { callerName, changeCallerKeys, endCallerSession } from './caller.ts';
import type { CommitWriter } from './writing.ts';
import { telemetryRows } from './planes.ts';
import { keyWrites, organizationWrites, profileWrites } from '../../write/tenants.ts';

type TenantPart<Names extends keyof TenantRows> = Pick<TenantRows, Names>;

export const tenantRows = (writing: CommitWriter): TenantRows => ({
  caller: (credential) => writing.facts.callers.get(callerName(credential))?.state ?? null,
  ...keyRows(writing),
  ...profileRows(writing),
  ...homeRows(writing),
  ...organizationRows(writing),
  ...telemetryRows(writing),
});

function keyRows({
  facts,
  undo,
  add,
}: CommitWriter): TenantPart<'unrevokedKeys' | 'addApiKey' | 'apiKey' | 'changeApiKey' | 'revokeApiKey'> {
  const writes = keyWrites(add);
  const changing = { callers: facts.callers, undo };
  const count = (more: number): void => {
    facts.unrevoked += more;
    undo.add(() => (facts.unrevoked -= more));
  };
  return {
    unrevokedKeys: () => facts.unrevoked,
    addApiKey: (key) => {
      const { keyId, revokedMs, updatedMs } = key;
      if (revokedMs === null) count(1);
      undo.set(facts.keys, keyId, { revokedMs, updatedMs });
      writes.addApiKey(key);
    },
    apiKey: (keyId) => facts.keys.get(keyId) ?? null,
    changeApiKey: (effect) => {
      const { keyId, scopes, expiresMs, atMs } = effect;
      changeCallerKeys(changing, keyId, { scopes, expiresMs, updatedMs: atMs });
      writes.changeApiKey(effect);
    },
    revokeApiKey: (effect) => {
      const { keyId, revokedMs, atMs } = effect;
      if (facts.keys.get(keyId)?.revokedMs === null) count(-1);
      undo.set(facts.keys, keyId, { revokedMs, updatedMs: atMs });
      changeCallerKeys(changing, keyId, { revokedMs, updatedMs: atMs });
      writes.revokeApiKey(effect);
    },
  };
}

const profileRows = ({
  facts,
  undo,
  add,
}: CommitWriter): TenantPart<'profile' | 'isNameTaken' | 'saveProfile'> => ({
  profile: () => facts.profile,
  isNameTaken: (key) => facts.names.has(key),
  saveProfile: (profile, updatedMs) => {
    const before = facts.profile;
    facts.profile = profile;
    undo.add(() => (facts.profile = before));
    changeCallerKeys({ callers: facts.callers, undo }, null, { deletedMs: profile.deletedMs });
    profileWrites(add).saveProfile(profile, updatedMs);
  },
});

const homeRows = ({ facts, undo, add }: CommitWriter): TenantPart<'membership' | 'living' | 'saveHomes'> => ({
  membership: () => facts.membership,
  living: () => {
    const { membership, others, profile } = facts;
    return membership === null || profile?.deletedMs !== null ? others : [...others, membership];
  },
  saveHomes: (organizationId, home) => {
    const before = facts.membership;
    facts.membership = before === null ? null : { ...before, home };
    undo.add(() => (facts.membership = before));
    organizationWrites(add).saveHomes(organizationId, home);
  },
});

function organizationRows({
  facts,
  undo,
  add,
}: CommitWriter): TenantPart<'openSession' | 'endSession' | 'setCustomer'> {
  const writes = organizationWrites(add);
  return {
    setCustomer: writes.setCustomer,
    openSession: (session) => {
      if (session.endedMs === null) undo.include(facts.sessions, Buffer.from(session.digest).toString('hex'));
      writes.openSession(session);
    },
    endSession: (effect) => {
      if (!undo.remove(facts.sessions, Buffer.from(effect.digest).toString('hex'))) return false;
      endCallerSession({ callers: facts.callers, undo }, effect);
      writes.endSession(effect);
      return true;
    },
  };
}
