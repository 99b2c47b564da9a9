/**
 * The time of a serving process. It follows the system's clock, but not its jumps: what is signed with a time days ahead
 * cannot be taken back, and a log whose time is ahead keeps that time until the clock has caught up. After a jump the
 * time runs on from where it was, until the system's clock is right again or the process restarts.
 * Proven by `test/host/process/steady-clock.test.ts`.
 */
import { uptime } from 'node:os';
import { limits } from '../../contract/limits.ts';

export interface Sources {
  /** The system's clock, Unix milliseconds. */
  readonly wall: () => number;
  /** Milliseconds since some moment. Nobody can set it; it may stand still while the machine sleeps. */
  readonly steady: () => number;
  /** The same, but it goes on while the machine sleeps. Slower to ask. */
  readonly awake: () => number;
}

const machine: Sources = {
  wall: () => Date.now(),
  steady: () => performance.now(),
  awake: () => uptime() * 1000,
};

const boundMs = limits.clockJumpSeconds * 1000;

export class SteadyClock {
  readonly #sources: Sources;
  /** All three at one moment at which the system's clock was followed. */
  #anchor: { readonly wall: number; readonly steady: number; readonly awake: number };
  #jumpMs = 0;

  constructor(sources: Sources = machine) {
    this.#sources = sources;
    this.#anchor = this.#read();
  }

  /** Whole Unix milliseconds. Cost: 100 ns. */
  now(): number {
    const { wall, steady, awake } = this.#sources;
    const wallMs = wall();
    const passed = steady() - this.#anchor.steady;
    const aheadMs = wallMs - this.#anchor.wall - passed;
    if (Math.abs(aheadMs) <= boundMs) return this.#follow(wallMs, passed);
    // the machine may have slept
    const passedAwake = awake() - this.#anchor.awake;
    const jumpMs = wallMs - this.#anchor.wall - passedAwake;
    if (Math.abs(jumpMs) <= boundMs) return this.#follow(wallMs, Infinity);
    this.#jumpMs = Math.round(jumpMs);
    return Math.round(this.#anchor.wall + passedAwake);
  }

  /** By how much the system's clock is ahead of this one (negative: behind) since it jumped; 0 while it is followed. */
  get jumpMs(): number {
    this.now();
    return this.#jumpMs;
  }

  /** Small corrections are no jump, so a new anchor is set before many of them add up. */
  #follow(wallMs: number, passedMs: number): number {
    this.#jumpMs = 0;
    if (passedMs > boundMs) this.#anchor = this.#read();
    return Math.floor(wallMs);
  }

  #read() {
    const { wall, steady, awake } = this.#sources;
    return { wall: wall(), steady: steady(), awake: awake() };
  }
}
