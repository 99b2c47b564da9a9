import { allSpecs } from '../../../src/cli/specs/all.ts';
import { describe, expect, it } from 'vitest';
import { parse } from '../../../src/cli/grammar/parse.ts';
import { stylesFor } from '../../../src/cli/terminal/safe.ts';

const layout = { styles: stylesFor(false), columns: 100 };
const now = Date.parse('2026-03-01T12:00:00Z');
const read = (line: string) => parse(line === '' ? [] : line.split(' '), now);
const command = (line: string) => {
  const parsed = read(line);
  if (parsed.kind !== 'command') throw new Error(`expected a command: ${line}`);
  return parsed;
};

describe('the grammar', () => {
  it('the command line consists of noun, verb, arguments and flags', () => {
    expect(command('events list --run r-1 --limit 5 --order desc')).toMatchObject({
      spec: { name: 'events list' },
      flags: { run: 'r-1', limit: 5, order: 'desc', all: false, since: undefined },
    });
    expect(command('events get evt_1').args).toEqual({ eventId: 'evt_1' });
    expect(command('jobs wait job_1 job_2').args).toEqual({ jobId: ['job_1', 'job_2'] });
  });

  it('the command line takes global flags before and after the verb, long and short', () => {
    for (const line of [
      '-o json -q events list --run r',
      'events -o json list -q --run r',
      'events list --run r --output=json --quiet',
      'events list -ojson --run r -q',
    ]) {
      expect(command(line)).toMatchObject({ globals: { output: 'json', quiet: true }, flags: { run: 'r' } });
    }
    expect(command('--no-input health').globals).toMatchObject({ noInput: true });
    expect(command('health').globals).toMatchObject({ noInput: false });
  });

  it('a flag that begins with no- is on when it is given', () => {
    const flags = allSpecs().flatMap((spec) =>
      Object.entries(spec.flags ?? {})
        .filter(([name]) => /^no[A-Z]/.test(name))
        .map(([name]) => ({ name, spec })),
    );
    expect(flags.map(({ name }) => name)).toContain('noContent');
    for (const { name, spec } of flags) {
      const required = Object.entries(spec.flags ?? {}).filter(([, flag]) => flag.required);
      const words = [
        spec.name,
        ...(spec.args ?? []).map(() => 'x'),
        ...required.flatMap(([flag]) => [`--${flag}`, 'x']),
      ].join(' ');
      const given = (line: string) => (command(line).flags as Record<string, unknown>)[name];
      const flag = name.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`);
      expect([given(words), given(`${words} --${flag}`)], spec.name).toEqual([false, true]);
    }
  });

  it('the command line takes --debug with and without a value, and never consumes the next word', () => {
    expect(command('--debug health').globals).toMatchObject({ debug: 'on' });
    expect(command('--debug=http health').globals).toMatchObject({ debug: 'http' });
  });

  it('show and get are one verb with every command that reads one thing', () => {
    const reading = allSpecs().filter(({ name }) => / (show|get)$/.test(name));
    expect(reading.length).toBeGreaterThan(25);
    for (const { name, args = [], flags = {} } of reading) {
      const required = Object.entries(flags)
        .filter(([, flag]) => flag.required)
        .flatMap(([flag]) => [`--${flag}`, 'x']);
      const words = [...args.map(() => 'x'), ...required].join(' ');
      for (const verb of ['show', 'get'])
        expect(command(`${name.replace(/ (show|get)$/, ` ${verb}`)} ${words}`.trim()).spec.name).toBe(name);
    }
  });

  it('the command line takes nouns in singular and plural', () => {
    for (const noun of ['event', 'events']) expect(command(`${noun} count`).spec.name).toBe('events count');
    for (const noun of ['context', 'contexts'])
      expect(command(`${noun} list`).spec.name).toBe('context list');
    expect(command('proof get prf_1').spec.name).toBe('proofs get');
    expect(command('report template').spec.name).toBe('report templates list');
    expect(command('report schedule list').spec.name).toBe('report schedules list');
    expect(command('report delivery list').spec.name).toBe('report deliveries list');
    expect(command('plane key rotate').spec.name).toBe('plane keys rotate');
    // a verb of that name stays itself
    expect(command('webhooks delivery dlv_1').spec.name).toBe('webhooks delivery');
  });

  it('the command line repeats and splits flags with several values', () => {
    expect(command('proofs create --run r --layers a,b --layers c').flags).toMatchObject({
      layers: ['a', 'b', 'c'],
    });
    expect(command('proofs verify x --key k1 --key k2').flags).toMatchObject({ key: ['k1', 'k2'] });
  });

  it('the command line takes commands of three words, and a --version flag of a verb', () => {
    expect(command('risk config get').spec.name).toBe('risk config get');
    expect(command('policy publish p --version 2').flags).toMatchObject({ version: 2 });
    expect(read('policy list --version').kind).toBe('text');
  });

  it('the command line takes words after -- unchanged', () => {
    expect(command('proofs verify -- -odd-name').args).toEqual({ proof: ['-odd-name'] });
    expect(command('proofs verify -').args).toEqual({ proof: ['-'] });
  });
});

describe('help', () => {
  it.each([
    ['', 'Usage: gov NOUN VERB'],
    ['--help', 'Usage: gov NOUN VERB'],
    ['events -h', 'events list'],
    ['events list --help', 'Usage: gov events list'],
    ['events list --run x -h', 'Usage: gov events list'],
    ['risk config --help', 'risk config get'],
    ['-V', '(build 0.'],
  ])('the help for %j prints %j', (line, expected) => {
    const parsed = read(line);
    expect(parsed.kind === 'text' ? String(parsed.write(layout)) : '').toContain(expected);
  });
});

describe('a usage error', () => {
  it.each([
    ['evnts list', "unknown command 'evnts'", 'did you mean events?'],
    ['events lst', "unknown command 'lst'", 'did you mean gov events list?'],
    ['report sectins', "unknown command 'sectins'", 'did you mean gov report sections?'],
    ['report sections list', 'too many arguments', 'did you mean gov report sections?'],
    ['deliveries list', 'unknown command', 'did you mean gov webhooks deliveries, gov report deliveries?'],
    ['schedules', 'unknown command', 'did you mean gov report schedules?'],
    ['approvers enrol', 'after "approvers", which has: ', 'did you mean gov approvers add?'],
    ['trust list', 'after "trust", which has: ', 'did you mean gov trust show?'],
    ['forward check', 'after "forward", which has: ', 'did you mean gov forward test?'],
    ['log verify', 'after "log", which has: ', 'did you mean gov log fsck?'],
    ['report schedule', 'expected a verb after "report schedules": ', 'gov report schedules --help'],
    ['events list --run r --limmit 3', "unknown option '--limmit'", 'did you mean --limit?'],
    ['events', 'expected a verb after "events": push, list', 'gov events --help'],
    ['event', 'expected a verb after "events": push, list', 'gov events --help'],
    [
      'sources show',
      'unknown command \'show\' after "sources", which has: list',
      'did you mean gov sources list?',
    ],
    ['sources end', 'unknown command \'end\' after "sources", which has: list', 'gov sources --help'],
    ['config get output', 'after "config", which has: list', 'did you mean gov config list?'],
    ['list runs', 'unknown command "list"', 'did you mean gov runs list?'],
    ['get run r1', 'unknown command "get"', 'did you mean gov runs show?'],
    ['proofs create invoice-1', 'too many arguments', 'did you mean --run invoice-1?'],
    ['runs list --json runId', 'too many arguments', 'did you mean --json=runId?'],
    ['risk config find', 'after "risk config", which has: get, ', 'gov risk config --help'],
    ['export create --resorce jobs', "unknown option '--resorce'", 'did you mean --resource?'],
    ['login', 'unknown command "login"', 'did you mean gov auth login?'],
    [
      'verify run.json',
      'unknown command "verify"',
      'did you mean gov policy verify, gov proofs verify, gov report verify, gov receipts verify, gov evidence verify, gov plane config verify, gov forward verify?',
    ],
    ['auth doctor', 'unknown command \'doctor\' after "auth"', 'gov doctor'],
    ['approve apr_1', 'unknown command "approve"', 'did you mean gov approvals approve?'],
    ['lst', "unknown command 'lst'", 'gov --help'],
    ['export create', "required option '--resource <WHAT>' not specified", 'gov export create --help'],
    ['events get', "missing required argument 'eventId'", 'gov events get --help'],
    ['events get a b', 'too many arguments', 'gov events get --help'],
    ['events list --run', "option '--run <RUN>' argument missing", 'gov events list --help'],
    ['events list --run -x', '--run: expected', undefined],
    ['events list --run r --order up', '--order: expected one of asc, desc, got "up"', undefined],
    ['events list --run r --limit 0', '--limit: expected a whole number of at least 1, got "0"', undefined],
  ])('the usage error of %j says %j', (line, message, hint) => {
    expect(() => read(line)).toThrow(
      expect.objectContaining({ exit: 2, message: expect.stringContaining(message) }),
    );
    if (hint !== undefined) expect(() => read(line)).toThrow(expect.objectContaining({ hint }));
  });

  it('an empty argument is a usage error', () => {
    expect(() => parse(['events', 'get', ''], now)).toThrow(/eventId: expected a value/);
  });
});
