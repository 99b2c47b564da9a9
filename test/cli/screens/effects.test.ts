import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { GovNetworkError } from '../../../src/client/errors.ts';
import { runEffects } from '../../../src/cli/screens/effects.ts';

it('an effect loads each request once, and gives the answer back with its request', async () => {
  const requests = [{ id: 1 }, { id: 2 }];
  let wanted: { id: number } | null = requests[0]!;
  let tell = (): void => {};
  const answers: unknown[] = [];
  const end = runEffects({
    wanted: () => wanted,
    subscribe: (listener) => {
      tell = listener;
      return () => (tell = () => {});
    },
    load: async ({ id }) => {
      if (id === 2) throw new GovNetworkError('ECONNREFUSED', 'nobody listens', { retryable: true });
      return `value ${id}`;
    },
    loaded: (request, value) => answers.push([request.id, value]),
    failed: (request, why) => answers.push([request.id, why]),
  });
  tell();
  tell();
  await turn();
  wanted = null;
  tell();
  wanted = requests[1]!;
  tell();
  await end();
  expect(answers).toEqual([
    [1, 'value 1'],
    [2, expect.stringContaining('nobody listens')],
  ]);
});
