/**
 * The rows that effects on data planes read and write; `src/store/rules/planes.ts` judges the effects.
 * Proven by `test/store/suite/tenancy/planes.ts` and `test/store/suite/tenancy/reports.ts`.
 */
import { challengeStates, claims, type TelemetryRows } from '../../rules/planes.ts';
import type { CommitWriter } from './writing.ts';
import { epochKey, nameKey, ownerKey, placeKey } from '../write/plane-facts.ts';
import { telemetryWrites } from '../../write/planes.ts';

type TelemetryPart<Names extends keyof TelemetryRows> = Pick<TelemetryRows, Names>;

export const telemetryRows = (writing: CommitWriter): TelemetryRows => ({
  ...planeRows(writing),
  ...reportRows(writing),
  ...countRows(writing),
});

function planeRows({
  facts,
  undo,
  add,
}: CommitWriter): TelemetryPart<'planeState' | 'unrevokedPlanes' | 'ownerOf' | 'savePlane'> {
  return {
    planeState: (planeId) => facts.planes.get(planeId) ?? null,
    unrevokedPlanes: () => facts.unrevokedPlanes,
    ownerOf: (claim, text) => facts.planeOwners.get(ownerKey(claim, text)) ?? null,
    savePlane: (plane) => {
      const { planeId, revision, revokedMs, enrolled } = plane;
      const before = facts.planes.get(planeId);
      const more = Number(revokedMs === null) - Number(before !== undefined && before.revokedMs === null);
      facts.unrevokedPlanes += more;
      undo.add(() => (facts.unrevokedPlanes -= more));
      undo.set(facts.planes, planeId, { revision, revokedMs });
      if (enrolled !== null)
        for (const claim of claims)
          undo.set(facts.planeOwners, ownerKey(claim, enrolled[claim]), { planeId, isOwn: true });
      telemetryWrites(add).savePlane(plane);
    },
  };
}

function reportRows({
  facts,
  undo,
  add,
}: CommitWriter): TelemetryPart<
  'linkAt' | 'challengeState' | 'addReport' | 'linkReport' | 'answerChallenge' | 'expireChallenge'
> {
  const writes = telemetryWrites(add);
  return {
    linkAt: (place) => facts.links.get(placeKey(place)) ?? null,
    challengeState: (name) => facts.challenges.get(nameKey(name)) ?? null,
    addReport: (report) => {
      undo.set(facts.links, placeKey(report), report.link);
      undo.set(facts.challenges, nameKey(report), challengeStates[report.attestation]);
      writes.addReport(report);
    },
    linkReport: (effect) => {
      undo.set(facts.links, placeKey(effect), effect.link);
      writes.linkReport(effect);
    },
    answerChallenge: (effect) => {
      undo.set(facts.challenges, nameKey(effect), 'answered');
      writes.answerChallenge(effect);
    },
    expireChallenge: (name) => {
      undo.set(facts.challenges, nameKey(name), 'expired');
      writes.expireChallenge(name);
    },
  };
}

function countRows({ facts, undo, add }: CommitWriter): TelemetryPart<'monthsOf' | 'saveMonth' | 'addUnits'> {
  const writes = telemetryWrites(add);
  return {
    addUnits: writes.addUnits,
    monthsOf: (epoch) => facts.months.get(epochKey(epoch)) ?? [],
    saveMonth: (epoch, month) => {
      const key = epochKey(epoch);
      const others = (facts.months.get(key) ?? []).filter((each) => each.month !== month.month);
      undo.set(facts.months, key, [...others, month]);
      writes.saveMonth(epoch, month);
    },
  };
}
