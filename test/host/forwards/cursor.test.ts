import { expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { targetOf, type ForwardTarget } from '../../../src/host/forwards/config.ts';
import { cursorAt, newCursor } from '../../../src/host/forwards/cursor.ts';

const bucket = (to: string, endpoint?: string): ForwardTarget =>
  targetOf(
    {
      name: 'archive',
      to,
      region: 'eu-central-1',
      accessKeyId: 'id',
      secretEnv: 'SECRET',
      ...(endpoint === undefined ? {} : { endpoint }),
    },
    { from: 'test', dataDir: '/' },
  );

it('another bucket begins a chain where the target is, and one of before continues where it ended', () => {
  const [one, two] = [bucket('s3://one'), bucket('s3://two')];
  const sent = { ...cursorAt(newCursor(0), one), next: 4, state: { sequence: 1 }, begun: 6 };
  const moved = cursorAt(sent, two);
  expect(moved).toMatchObject({ next: 4, state: null, begun: null });
  expect(cursorAt(sent, bucket('s3://one', 'https://store.example'))).toMatchObject({ state: null });
  const more = { ...moved, next: 9, state: { sequence: 0 } };
  const back = cursorAt(more, one);
  expect(back).toMatchObject({ next: 4, state: { sequence: 1 }, begun: 6 });
  expect(cursorAt(back, two)).toMatchObject({ next: 9, state: { sequence: 0 } });
  // a cursor of an earlier version names no address
  expect(cursorAt({ ...newCursor(4), state: { sequence: 1 } }, two)).toMatchObject({
    state: { sequence: 1 },
  });
});

const named = (at: number): ForwardTarget =>
  targetOf({ name: 'siem', to: `https://siem-${at}.example/in` }, { from: 'test', dataDir: '/' });

it('a cursor keeps the positions of the addresses that its target had, up to their limit', () => {
  let kept = cursorAt(newCursor(0), named(0));
  for (let at = 1; at <= limits.forwardPlaces + 1; at++) kept = cursorAt({ ...kept, next: at }, named(at));
  expect(cursorAt(kept, named(1))).toMatchObject({ next: 2 });
  expect(cursorAt(kept, named(0))).toMatchObject({ next: kept.next });
});
