/** What a store remembers of received telemetry: facts, changed only from the value that the caller read. */
import { describe, expect, it } from 'vitest';
import type { AppendRequest, FactChange } from '../../../../src/store/port/store.ts';
import { codeOf, genesis, projectOf, stored } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';
import { unmetered } from '../../support/governance.ts';
import { limits } from '../../../../src/contract/limits.ts';

const saving = (facts: readonly FactChange[], projectId = 'prj_a', day = 20_000): AppendRequest =>
  unmetered([], [{ kind: 'saveFacts', facts, day }], { projectId });
const used = (value: string, day = 20_000) => ({ value, day });

describe('facts of received telemetry', () => {
  it('are found by name and by the beginning of their names, in their own project', async () => {
    const { store, reopen, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    await stored(
      store,
      saving([
        { name: 't:1', from: null, to: 'run-1' },
        { name: 's:b', from: null, to: '{"b":1}' },
        { name: 's:a', from: null, to: '{"a":1}' },
      ]),
    );
    await stored(store, saving([{ name: 't:1', from: null, to: 'other' }], 'prj_b'));
    const again = await reopen();
    expect(await again.facts('prj_a', ['t:1', 't:2'])).toEqual(new Map([['t:1', used('run-1')]]));
    expect(await again.facts('prj_b', ['t:1', 's:a'])).toEqual(new Map([['t:1', used('other')]]));
    expect(await again.facts('prj_a', [])).toEqual(new Map());
    const names = async (page: { after?: string; limit: number }) =>
      (await again.factsFrom('prj_a', 's:', page)).map(({ name }) => name);
    expect(await names({ limit: 5 })).toEqual(['s:a', 's:b']);
    expect(await names({ limit: 1 })).toEqual(['s:a']);
    expect(await names({ after: 's:a', limit: 5 })).toEqual(['s:b']);
    await drop();
  });

  it('change only from the value that was read, and a refused request changes none', async () => {
    const { store, drop } = await open();
    await stored(store, saving([{ name: 't:1', from: null, to: 'one' }]));
    const results = await Promise.all(
      [
        [{ name: 't:1', from: null, to: 'two' }],
        [
          { name: 't:2', from: null, to: 'two' },
          { name: 't:1', from: 'zero', to: 'two' },
        ],
        [{ name: 't:1', from: 'one', to: 'two' }],
        [{ name: 't:1', from: 'one', to: 'three' }],
      ].map((facts) => codeOf(store.append(saving(facts)))),
    );
    expect(results).toEqual(['CONFLICT', 'CONFLICT', 'none', 'CONFLICT']);
    expect(await store.facts('prj_a', ['t:1', 't:2'])).toEqual(new Map([['t:1', used('two')]]));
    await drop();
  });

  it('are deleted by the sweep a stated number of days after their last use, in all projects', async () => {
    const { store, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    const fact = (name: string, from: string | null = null): FactChange => ({ name, from, to: 'x' });
    await stored(store, saving([fact('t:old'), fact('t:used')], 'prj_a', 100));
    await stored(store, saving([fact('t:old')], 'prj_b', 100));
    await stored(store, saving([fact('t:used', 'x')], 'prj_a', 101));
    const names = async (projectId: string) => [
      ...(await store.facts(projectId, ['t:old', 't:used'])).keys(),
    ];
    const lastMs = (100 + limits.intakeFactDays + 1) * 86_400_000 - 1;
    await store.sweep(lastMs);
    expect([await names('prj_a'), await names('prj_b')]).toEqual([['t:old', 't:used'], ['t:old']]);
    await store.sweep(lastMs + 1);
    expect([await names('prj_a'), await names('prj_b')]).toEqual([['t:used'], []]);
    // an older clock does not make a fact older
    await stored(store, saving([fact('t:used', 'x')], 'prj_a', 99));
    expect(await store.facts('prj_a', ['t:used'])).toEqual(new Map([['t:used', used('x', 101)]]));
    await drop();
  });

  it('are deleted by the sweep also if they are more than one transaction takes', async () => {
    const { store, drop } = await open();
    const many = Array.from({ length: 2_500 }, (_, n): FactChange => ({
      name: `c:${n}`,
      from: null,
      to: 'x',
    }));
    await stored(store, saving(many, 'prj_a', 1));
    await store.sweep((limits.intakeFactDays + 2) * 86_400_000);
    expect(await store.factsFrom('prj_a', 'c:', { limit: 10 })).toEqual([]);
    await drop();
  });
});
