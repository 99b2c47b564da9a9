/** What a request takes in a commit: what of it is written, whatever carries it. */
import { expect, it } from 'vitest';
import { requestBytes } from '../../../src/store/port/request-bytes.ts';
import { challenge, plane, report, save, saveReport } from '../support/data-planes.ts';
import { event, request } from '../support/fixture.ts';
import { unmetered } from '../support/governance.ts';

it('the size of a request counts its leaves and the usage reports that it stores', () => {
  const one = requestBytes(request([event()]));
  expect(one).toBeGreaterThan(300);
  expect(requestBytes(request([event()], { toHome: [event(), event()] }))).toBe(3 * one);
  const small = report('1', 1);
  const long = { ...small, body: 'x'.repeat(60_000), challenge: challenge('a') };
  const [of, ofLong] = [small, long].map((each) => requestBytes(unmetered([], [saveReport(each)])));
  expect(ofLong! - of!).toBe(60_000 - small.body.length + long.challenge.text.length);
  expect(requestBytes(unmetered([event()], [save(plane('1')), saveReport(small)]))).toBe(one + of!);
});
