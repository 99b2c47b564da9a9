/** Projects of organizations: their names, how many there are, what they used; projects that change, go and return. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import type { Effect } from '../../../../src/store/port/store.ts';
import { codeOf, event, request, startMs, stored } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';
import {
  apply,
  change,
  moreProjects,
  newProject,
  storedProject,
  tenant,
  used,
} from '../../support/tenants.ts';

const set = (more: Omit<Extract<Effect, { kind: 'changeProject' }>, 'kind' | 'atMs'>, atMs = startMs + 1) =>
  ({ kind: 'changeProject', atMs, ...more }) as const;

describe('names of projects', () => {
  it('project names are unique in organization and environment, ignoring case and accent encoding', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    await store.createTenant(tenant('y'));
    const make = (
      org: string,
      name: string,
      id = name,
      environment: 'production' | 'sandbox' = 'production',
    ) => {
      const { project, ...rest } = storedProject(org, id, { environment });
      return codeOf(store.createTenant(moreProjects({ ...rest, project, name })));
    };
    expect(await make('x', 'Café', '1')).toBe('none');
    expect(await make('x', 'CAFE\u0301', '2')).toBe('NAME_TAKEN');
    expect(await make('x', 'LIVE', '3')).toBe('NAME_TAKEN');
    expect(await make('x', 'Café', '4', 'sandbox')).toBe('none');
    expect(await make('y', 'Café', '5')).toBe('none');
    await drop();
  });

  it('project names that look the same count as the same name', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    const make = (name: string, id: string) => {
      const { project } = storedProject('x', id);
      return codeOf(store.createTenant(moreProjects({ ...storedProject('x', id), project, name })));
    };
    const alike = [
      ['Straße', 'STRASSE', 'strasse', 'STRAẞE', 'ſtraſſe'],
      ['İstanbul', 'i̇stanbul', 'İSTANBUL', 'I\u0307stanbul'],
      ['ИМЯ', 'имя'],
      ['née', 'ne\u0301e', 'ne\u200b\u0301e'],
      ['ΟΔΟΣ', 'οδος', 'οδοσ'],
      ['ﬁn', 'FIN', 'ｆｉｎ'],
      ['Kelvin', 'Kelvin'],
      ['Ω', 'Ω', 'ω'],
      [
        'two words',
        ' two words',
        'two words ',
        'two  words',
        'two\u00a0words',
        'two\u3000words',
        'two\u2003words',
      ],
      [
        'hidden',
        'hid\u200bden',
        '\ufeffhidden',
        'hid\u00adden',
        'hid\u2060den',
        'hidden\u{e0041}',
        'hid\u034fden',
      ],
    ];
    for (const [set, [first = '', ...others]] of alike.entries()) {
      expect([first, await make(first, `${set}`)]).toEqual([first, 'none']);
      for (const [at, name] of others.entries()) {
        expect([name, await make(name, `${set}.${at}`)]).toEqual([name, 'NAME_TAKEN']);
      }
    }
    const different = [
      'strase',
      'istanbul',
      'twowords',
      'two-words',
      'é',
      'e',
      'ñ',
      'n',
      '😀',
      '日本',
      '日本 ',
    ];
    const codes = [];
    for (const [at, name] of different.entries()) codes.push(await make(name, `d${at}`));
    expect(codes).toEqual([...different.slice(1).map(() => 'none'), 'NAME_TAKEN']);
    await drop();
  });

  it('a project name is not given twice in one request or in two requests at the same time', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    const named = (id: string) => ({ ...storedProject('x', id), name: 'same' });
    expect(await codeOf(store.createTenant(moreProjects(named('1'), named('2'))))).toBe('NAME_TAKEN');
    const codes = await Promise.all(
      ['1', '2', '3'].map((id) => codeOf(store.createTenant(moreProjects(named(id))))),
    );
    expect(codes.toSorted()).toEqual(['NAME_TAKEN', 'NAME_TAKEN', 'none']);
    await drop();
  });
});

describe('projects of an organization', () => {
  it('an organization has a limited number of projects, without the deleted ones', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    const count = limits.projectsPerOrganization - 2;
    const bare = (at: number) => ({ ...newProject(storedProject('x', `n${at}`)), keys: [] });
    const many = { ...moreProjects(), projects: Array.from({ length: count }, (_, at) => bare(at)) };
    const { projects } = many;
    expect(await codeOf(store.createTenant({ ...many, projects: [...projects, bare(-1)] }))).toBe('CONFLICT');
    expect(await store.createTenant(many)).toEqual({ outcome: 'stored' });
    expect(await store.projects('org_x')).toHaveLength(limits.projectsPerOrganization);
    const more = moreProjects(storedProject('x', 'more'));
    expect(await codeOf(store.createTenant(more))).toBe('CONFLICT');
    await stored(store, change('prj_x_n7', set({ deletedMs: startMs + 1 })));
    expect(await store.createTenant(more)).toEqual({ outcome: 'stored' });
    await store.createTenant(tenant('y'));
    await drop();
  });

  it('projects are listed newest first and found within their organization alone', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    await store.createTenant(tenant('y'));
    const later = storedProject('x', 'later', { createdMs: startMs + 5 });
    await store.createTenant(moreProjects(later));
    const ids = async (org: string) => (await store.projects(org)).map(({ project }) => project.projectId);
    expect(await ids('org_x')).toEqual(['prj_x_later', 'prj_x_test', 'prj_x_live']);
    expect(await ids('org_none')).toEqual([]);
    expect(await store.storedProject('org_x', 'prj_x_later')).toEqual(later);
    expect(await store.storedProject('org_y', 'prj_x_later')).toBeNull();
    expect(await store.storedProject('org_x', 'prj_none')).toBeNull();
    await drop();
  });

  it('the projects of an organization report their usage of a month', async () => {
    const { store, clock, drop } = await open();
    await store.createTenant(tenant('x'));
    await store.createTenant(tenant('y'));
    const append = async (projectId: string, events: number) =>
      stored(
        store,
        request(
          Array.from({ length: events }, () => event()),
          { projectId },
        ),
      );
    await append('prj_x_live', 3);
    await append('prj_y_live', 9);
    clock.ms = Date.UTC(2026, 1, 1);
    await append('prj_x_live', 2);
    await append('prj_x_test', 4);
    const test = { projectId: 'prj_x_test', name: 'test', environment: 'sandbox', deletedMs: null };
    const live = { projectId: 'prj_x_live', name: 'live', environment: 'production', deletedMs: null };
    expect(await store.usageOf('org_x', '2026-01')).toEqual({
      projects: [
        { ...test, used: used({}), planes: used({}) },
        { ...live, used: used({ audit_event: 3 }), planes: used({}) },
      ],
      complete: true,
    });
    expect(await store.usageOf('org_none', '2026-02')).toEqual({ projects: [], complete: true });
    await drop();
  });

  it('deleted projects with usage in a month are reported with that usage', async () => {
    const { store, clock, drop } = await open();
    await store.createTenant(tenant('x'));
    const names = ['a', 'b', 'c', 'd'];
    await store.createTenant(moreProjects(...names.map((name) => storedProject('x', name))));
    const use = (name: string) => stored(store, request([event()], { projectId: `prj_x_${name}` }));
    const remove = (name: string) =>
      stored(store, change(`prj_x_${name}`, set({ deletedMs: clock.ms }, clock.ms)));
    const seen = async (month: string) => {
      const { projects, complete } = await store.usageOf('org_x', month);
      expect(complete).toBe(true);
      return projects.map(({ name, deletedMs, used: { audit_event: events } }) => [name, deletedMs, events]);
    };
    const [january, february] = [Date.UTC(2026, 1, 1) - 1, Date.UTC(2026, 1, 1)];
    for (const name of ['a', 'b']) await use(name);
    clock.ms = january;
    for (const name of ['a', 'd']) await remove(name);
    clock.ms = february;
    for (const name of ['b', 'c']) await use(name);
    await remove('b');
    clock.ms += 1;
    await remove('c');
    const living = (month: string) => [
      ['test', null, 0],
      ['live', null, month === '2026-01' ? 0 : 1],
    ];
    await use('live');
    expect(await seen('2026-01')).toEqual([...living('2026-01'), ['b', february, 1], ['a', january, 1]]);
    expect(await seen('2026-02')).toEqual([...living('2026-02'), ['c', february + 1, 1], ['b', february, 1]]);
    await stored(store, change('prj_x_b', set({ deletedMs: null })));
    expect((await seen('2026-02')).map(([name]) => name)).toEqual(['test', 'live', 'b', 'c']);
    expect(await store.usage('prj_x_c', '2026-02')).toEqual(used({ audit_event: 1 }));
    await drop();
  });

  it('a usage report with too many deleted projects is cut and says so', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    const count = limits.projectsPerOrganization;
    const bare = (at: number) => ({
      ...newProject(storedProject('x', `n${at}`, { deletedMs: startMs + at })),
      keys: [],
    });
    const make = (from: number, to: number) =>
      store.createTenant({
        ...moreProjects(),
        projects: Array.from({ length: to - from }, (_, at) => bare(from + at)),
      });
    await make(0, count - 2);
    await make(count - 2, count);
    await stored(store, request([event()], { projectId: 'prj_x_n0' }));
    const deleted = async () => {
      const { projects, complete } = await store.usageOf('org_x', '2026-01');
      return [complete, projects.filter(({ deletedMs }) => deletedMs !== null).map(({ name }) => name)];
    };
    expect(await deleted()).toEqual([true, ['n0']]);
    await make(count, count + 1);
    expect(await deleted()).toEqual([false, []]);
    await drop();
  });
});

describe('a project', () => {
  it('a change of a project sets the given fields and keeps the others', async () => {
    const { store, reopen, drop } = await open();
    await store.createTenant(tenant('x'));
    const settings = '{"retentionDays":30,"timezone":"Europe/Berlin"}';
    await stored(store, change('prj_x_live', set({ settings })));
    await stored(
      store,
      change('prj_x_live', set({ quotas: { audit_event: 5, risk_decision: null } }, startMs + 2)),
    );
    await stored(store, change('prj_x_live', set({ name: 'Überblick' }, startMs + 3)));
    const again = await reopen();
    expect(await again.storedProject('org_x', 'prj_x_live')).toEqual({
      ...storedProject('x', 'live'),
      name: 'Überblick',
      settings,
      quotas: { audit_event: 5, risk_decision: null },
      updatedMs: startMs + 3,
    });
    expect(await again.storedProject('org_x', 'prj_x_test')).toEqual(tenant('x').projects[1]?.stored);
    await drop();
  });

  it('a project cannot take the name of another, but may change the spelling of its own', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    await store.createTenant(moreProjects(storedProject('x', 'other')));
    expect(await codeOf(apply(store, 'prj_x_live', set({ name: 'OTHER' })))).toBe('NAME_TAKEN');
    await stored(store, change('prj_x_live', set({ name: 'LIVE' })));
    await stored(store, change('prj_x_test', set({ name: 'other' })));
    const both = await Promise.all(
      ['prj_x_live', 'prj_x_other'].map((id) => codeOf(apply(store, id, set({ name: 'contested' })))),
    );
    expect(both.toSorted()).toEqual(['NAME_TAKEN', 'none']);
    expect(
      (await store.head('prj_x_live', 'audit')).size + (await store.head('prj_x_other', 'audit')).size,
    ).toBe(2 + 2 + 1 + 1);
    await drop();
  });

  it('a deleted project is neither changed nor listed, and keeps its log', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    const gone = set({ deletedMs: startMs + 9 }, startMs + 9);
    await stored(store, change('prj_x_live', gone));
    expect(await codeOf(apply(store, 'prj_x_live', gone))).toBe('NOT_FOUND');
    expect(await codeOf(apply(store, 'prj_x_live', set({ name: 'new' })))).toBe('NOT_FOUND');
    expect((await store.projects('org_x')).map(({ name }) => name)).toEqual(['test']);
    expect(await store.storedProject('org_x', 'prj_x_live')).toMatchObject({
      deletedMs: startMs + 9,
      updatedMs: startMs + 9,
      name: 'live',
    });
    const found = await store.apiKey(newProject(storedProject('x', 'live')).keys[0]!.digest);
    expect(found?.stored?.deletedMs).toBe(startMs + 9);
    expect((await store.head('prj_x_live', 'audit')).size).toBe(3);
    await drop();
  });

  it('a deleted project is restored when its name is still free', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    await stored(store, change('prj_x_live', set({ deletedMs: startMs + 9 })));
    await store.createTenant(moreProjects({ ...storedProject('x', 'second'), name: 'Live' }));
    expect(await codeOf(apply(store, 'prj_x_live', set({ deletedMs: null })))).toBe('NAME_TAKEN');
    await stored(store, change('prj_x_live', set({ deletedMs: null, name: 'first' }, startMs + 10)));
    expect(await store.storedProject('org_x', 'prj_x_live')).toEqual({
      ...storedProject('x', 'live'),
      name: 'first',
      updatedMs: startMs + 10,
    });
    await drop();
  });

  it('the project of a plane has no profile that can change', async () => {
    const { store, drop } = await open();
    expect(await codeOf(apply(store, 'prj_a', set({ name: 'new' })))).toBe('NOT_FOUND');
    expect(await store.storedProject('org_test', 'prj_a')).toBeNull();
    expect(await store.projects('org_test')).toEqual([]);
    await drop();
  });
});
