import { describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import { CommitQueue } from '../../../../src/store/sqlite/write/commit-queue.ts';

const KiB = 1024;

/** Items are named by project and number: `a1`; those of no project by `-1`. */
class Queue {
  readonly #queue = new CommitQueue<string>();
  #count = 0;

  add(owner: string, count: number, bytes: number): this {
    for (let at = 0; at < count; at += 1) {
      this.#count += 1;
      const write = { projectId: owner === '-' ? '' : owner, bytes };
      this.#queue.add({ ...write, item: `${owner}${this.#count}` }, limits.writeQueue);
    }
    return this;
  }

  /** How many of each owner the next commit takes: `a3 b1`. */
  next(): string {
    const counts = new Map<string, number>();
    for (const item of this.#queue.next()) counts.set(item.charAt(0), (counts.get(item.charAt(0)) ?? 0) + 1);
    return [...counts].map(([owner, count]) => `${owner}${count}`).join(' ');
  }
}

const eighth = limits.commitBytes / 8;
const sharedEighth = limits.commitSharedBytes / 8;

describe('the size of the next commit', () => {
  it('a commit of one project alone is as large as the limits allow', () => {
    expect(new Queue().add('a', 9, eighth).next()).toBe('a8');
    expect(new Queue().add('a', limits.commitRequests + 1, 1).next()).toBe(`a${limits.commitRequests}`);
  });

  it('a commit is small when several projects wait, and takes requests of each in turn', () => {
    const queue = new Queue().add('a', 20, sharedEighth).add('b', 2, sharedEighth).add('c', 1, KiB);
    expect([queue.next(), queue.next(), queue.next()]).toEqual(['a6 b2 c1', 'a8', 'a6']);
  });

  it('one project with many requests does not delay the request of another project', () => {
    const queue = new Queue().add('a', 5 * limits.commitRequests, 1).add('b', 1, 1);
    expect(queue.next()).toBe(`a${limits.commitRequests - 1} b1`);
  });

  it('commits stay small for a while after another project wrote', () => {
    const queue = new Queue().add('a', 1, KiB).add('b', 1, KiB);
    expect(queue.next()).toBe('a1 b1');
    queue.add('a', 8 * limits.commitSharedRecent, sharedEighth);
    for (let at = 0; at < limits.commitSharedRecent; at += 1) expect(queue.next()).toBe('a8');
    expect(queue.add('a', 9, eighth).next()).toBe('a8');
  });

  it('requests without a project do not make commits smaller', () => {
    const queue = new Queue().add('a', 5, eighth).add('-', 1, KiB).add('a', 5, eighth);
    expect(queue.next()).toBe('a8 -1');
  });
});
