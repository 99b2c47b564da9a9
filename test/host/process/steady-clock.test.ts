import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { SteadyClock } from '../../../src/host/process/steady-clock.ts';

const startMs = Date.UTC(2026, 2, 1);
const boundMs = limits.clockJumpSeconds * 1000;
const dayMs = 86_400_000;

/** A machine whose clock can be set, and that can sleep. */
function machine() {
  let [passed, slept, set] = [0, 0, 0];
  const clock = new SteadyClock({
    wall: () => startMs + passed + slept + set,
    steady: () => 1000 + passed,
    awake: () => 5000 + passed + slept,
  });
  return {
    clock,
    pass: (ms: number) => (passed += ms),
    sleep: (ms: number) => (slept += ms),
    set: (ms: number) => (set += ms),
    after: () => clock.now() - startMs,
  };
}

describe('the time of a process', () => {
  it('the steady clock follows the system clock', () => {
    const { after, pass } = machine();
    expect(after()).toBe(0);
    pass(3 * dayMs);
    expect(after()).toBe(3 * dayMs);
  });

  it.each([2 * dayMs, dayMs, -dayMs, boundMs + 1, -boundMs - 1])(
    'the steady clock continues after a jump of %d ms, and follows again once the system clock is right',
    (jump) => {
      const { clock, after, pass, set } = machine();
      pass(10_000);
      set(jump);
      expect(after()).toBe(10_000);
      expect(clock.jumpMs).toBe(jump);
      pass(5000);
      expect(after()).toBe(15_000);
      set(-jump);
      expect(after()).toBe(15_000);
      expect(clock.jumpMs).toBe(0);
    },
  );

  it.each([boundMs, -boundMs])('the steady clock follows a correction of %d ms', (jump) => {
    const { clock, after, set } = machine();
    set(jump);
    expect(after()).toBe(jump);
    expect(clock.jumpMs).toBe(0);
  });

  it('the steady clock follows small corrections that add up to days', () => {
    const { clock, after, pass, set } = machine();
    for (let times = 0; times < 100; times++) {
      pass(boundMs * 2);
      after();
      set(boundMs / 2);
      expect(clock.jumpMs).toBe(0);
    }
    expect(after()).toBe(250 * boundMs);
  });

  it('the steady clock follows the system clock of a machine that slept', () => {
    const { clock, after, pass, sleep, set } = machine();
    sleep(9 * dayMs);
    expect(after()).toBe(9 * dayMs);
    expect(clock.jumpMs).toBe(0);
    pass(1000);
    set(dayMs);
    expect(after()).toBe(9 * dayMs + 1000);
  });
});
