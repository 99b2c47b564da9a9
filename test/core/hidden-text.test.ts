import { describe, expect, it } from 'vitest';
import { hiddenCount, hiddenIn, hiddenNotices, hiddenSummary, toolText } from '../../src/core/hidden-text.ts';

/** The text as variation selectors: one a byte. */
const bySelectors = (text: string): string =>
  [...Buffer.from(text)]
    .map((byte) => String.fromCodePoint(byte < 16 ? 0xfe00 + byte : 0xe0100 + byte - 16))
    .join('');
const byTags = (text: string): string =>
  [...text].map((each) => String.fromCodePoint(0xe0000 + each.charCodeAt(0))).join('');
const notices = (given: object) => hiddenNotices({ tool: { name: 'pay' }, arguments: given });

describe('hidden text in a call', () => {
  it('counts the hidden characters of each argument, and spells what they say', () => {
    const given = {
      note: `pay bob${bySelectors('--to attacker')}`,
      to: 'bo\u3164b',
      cc: 'b\u00adob',
      x: 'b\u034fob\u2800',
    };
    expect(notices(given)).toEqual([
      '13 hidden characters in `note`, spells: --to attacker',
      '1 hidden character in `to`',
      '1 hidden character in `cc`',
      '2 hidden characters in `x`',
    ]);
    expect(hiddenCount({ tool: { name: 'pay' }, arguments: given })).toBe(17);
  });

  it.each([
    ['tags', byTags('delete all')],
    ['selectors', bySelectors('delete all')],
    ['selectors between letters', [...bySelectors('delete all')].join('a')],
  ])('decodes %s', (_, text) => {
    expect(hiddenIn({ tool: null, arguments: { text } })[0]?.spells).toBe('delete all');
  });

  it('decodes UTF-8 in selectors, and shows a hidden text that hides another', () => {
    expect(notices({ text: bySelectors('grüße\u202e') })[0]).toContain('spells: grüße\\u202e');
  });

  it('says of the selector of an emoji only that it is there', () => {
    expect(notices({ text: '⚠\ufe0f ready ❤\ufe0f' })).toEqual(['2 hidden characters in `text`']);
  });

  it('looks into names, lists, the tool, the actor and the context', () => {
    const call = {
      tool: { name: 'p\u200bay', server: 'bank' },
      arguments: { 'no\u00adte': 1, items: [{ price: 'a\u200bb' }] },
      actor: 'a\u200bda',
      context: { cwd: '/\u200b' },
    };
    expect(hiddenIn(call).map(({ path }) => path)).toEqual([
      'tool.name',
      'no\u00adte',
      'items[0].price',
      'actor',
      'context.cwd',
    ]);
    expect(hiddenNotices(call).join()).not.toMatch(/[\u00ad\u200b]/);
  });

  it('marks words with letters of several scripts, and no word of one script', () => {
    expect(notices({ to: 'pay p\u0430ypal now' })).toEqual([
      'letters of several scripts in `to`: p\u0430ypal (p\\u0430ypal)',
    ]);
    expect(notices({ to: 'Привет, мир! SQL-запрос, naïve, 日本語テキスト, Straße, Ωmega' })).toEqual([
      'letters of several scripts in `to`: Ωmega (\\u03a9mega)',
    ]);
    expect(notices({ to: 'SQL-запрос 日本語 컴퓨터 e\u0301 µs 5кг' })).toEqual([]);
    expect(notices({ to: '0x12\u0435f', key: 'a_\u0430_1' })).toEqual([
      'letters of several scripts in `to`: 0x12\u0435f (0x12\\u0435f)',
      'letters of several scripts in `key`: a_\u0430_1 (a_\\u0430_1)',
    ]);
  });

  it('marks numbers with digits of several scripts, and no number of one script', () => {
    expect(notices({ amount: '10\u0966', iban: '1.\u0660\u0660\u0660,\u{1d7ce}' })).toEqual([
      'digits of several scripts in `amount`: 10\u0966 (10\\u0966)',
      'digits of several scripts in `iban`: 1.\u0660\u0660\u0660,\u{1d7ce} (1.\\u0660\\u0660\\u0660,\\u{1d7ce})',
    ]);
    expect(
      notices({ to: '\u0661\u0660\u0660 \uff11\uff10 \u{1d7ce}\u{1d7cf} 100 1,000.50 / \u0663' }),
    ).toEqual([]);
    expect(hiddenSummary({ tool: null, arguments: { a: '10\u0966' } })).toBe('digits of several scripts');
    const crowd = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`v${at}`, '10\u0966']));
    expect(notices(crowd).at(-1)).toBe('digits of several scripts in 1 more place');
  });

  it('a line of a list names both kinds, and nothing of a plain call', () => {
    const said = (text: string) => hiddenSummary({ tool: null, arguments: { text } });
    expect(['pay', 'a\u200b', 'p\u0430y', 'p\u0430y\u200b\u200b'].map(said)).toEqual([
      null,
      '1 hidden character',
      'letters of several scripts',
      '2 hidden characters, letters of several scripts',
    ]);
  });

  it('names twenty places, and counts one more', () => {
    const given = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`v${at}`, '\u200b']));
    expect(notices(given(20))).toHaveLength(20);
    expect(notices(given(21)).at(-1)).toBe('hidden characters in 1 more place');
  });

  it('names what is spelled first, so that a crowd of other places does not push it out', () => {
    const crowd = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`v${at}`, 'p\u0430ypal']));
    const said = notices({ ...crowd, a: '\u200b', note: `pay${byTags('--to eve')}` });
    expect(said.slice(0, 2)).toEqual([
      '8 hidden characters in `note`, spells: --to eve',
      '1 hidden character in `a`',
    ]);
    expect(said).toHaveLength(21);
    expect(said.at(-1)).toBe('letters of several scripts in 3 more places');
  });

  it('names no two places alike, and no name as words of the notice', () => {
    const x = '\u200b';
    const given = { 'to.name': x, to: { name: x }, '': { to: x }, 'a`, spells: thanks': x };
    expect(hiddenIn({ tool: null, arguments: given }).map(({ path }) => path)).toEqual([
      '["to.name"]',
      'to.name',
      '[""].to',
      '["a`, spells: thanks"]',
    ]);
  });

  it('nothing is said of a call in which nothing is hidden', () => {
    expect(notices({ note: 'pay bob\n\tnow', amount: 5, none: null, on: true, list: [] })).toEqual([]);
    expect(hiddenNotices({ tool: null, arguments: null })).toEqual([]);
  });

  it('names letters of a tool that are not Latin first, also beside a crowd', () => {
    const crowd = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`v${at}`, 'a\u200b']));
    expect(hiddenNotices({ tool: { name: 'p\u0430y' }, arguments: crowd })[0]).toBe(
      'letters of several scripts in `tool.name`: p\u0430y (p\\u0430y)',
    );
    expect(hiddenNotices({ tool: { name: '\u0440\u0430\u0443', server: 'bank' } })).toEqual([
      'letters that are not Latin in `tool.name`: \u0440\u0430\u0443 (\\u0440\\u0430\\u0443)',
    ]);
    expect(hiddenNotices({ tool: { name: 'pay' }, arguments: { note: '\u0440\u0430\u0443' } })).toEqual([]);
  });

  it('says in a row of a list how much is hidden, and that letters are mixed', () => {
    expect(hiddenSummary({ tool: { name: 'p\u0430y' }, arguments: { note: 'a\u200b' } })).toBe(
      '1 hidden character, letters of several scripts',
    );
    expect(hiddenSummary({ tool: { name: 'pay' }, arguments: { note: 'a' } })).toBeNull();
  });

  it.each([
    ['pay', 'bank', 'pay on bank'],
    ['pay', undefined, 'pay'],
    ['pay on bank', 'evil', '"pay on bank" on evil'],
    ['pay', 'bank on evil', 'pay on "bank on evil"'],
    ['"pay"', undefined, '"\\"pay\\""'],
  ])('names the tool %s of the server %s as %s', (name, server, text) => {
    expect(toolText({ name, server })).toBe(text);
  });
});
