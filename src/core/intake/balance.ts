/**
 * Compares what a file holds by its shape (`core/balance/scan.ts`) with what its importer made of it. A call or result is
 * known by its id, a prompt or an output by its first text; what has neither, or was changed to fit the contract, is
 * compared by number. A copy needs the importer's word that it met one. Every fact that is left has a fault, and the
 * first fault refuses the import. Tested by `test/core/intake/balance.test.ts`.
 */
import type { EventInput } from '../../contract/events.ts';
import type { RawFact } from '../balance/scan.ts';
import { kinds, type Kind } from '../balance/kinds.ts';
import { fromEach, type Counts } from '../balance/statement.ts';
import { sha256Text } from '../hash.ts';
import { isObject } from '../json/object.ts';
import {
  exceptionOf,
  isCountedByNumber,
  isOfRequest,
  placeExceptionOf,
  unseenExceptionOf,
} from './exceptions.ts';
import type { Change } from './fit.ts';
import type { ImportedRun } from './run.ts';
import { isBeginning, isSameCall } from './same-call.ts';

export type WeighedRun = Pick<
  ImportedRun,
  'format' | 'events' | 'changes' | 'inherited' | 'inheritedEvents' | 'remainder'
>;

export interface BalanceInput {
  readonly found: readonly RawFact[];
  readonly runs: readonly WeighedRun[];
  /** First lines of documents that were refused alone. */
  readonly refusedLines: ReadonlySet<number>;
  /** Returns the bytes of something found, to compare copies. */
  readonly bytesOf: (found: RawFact) => Uint8Array;
}

/** What the importer did with a fact, in words that follow "the importer". */
export const faultWords = {
  unread: 'did not read it',
  unknown: 'does not understand the part around it',
  twice: 'recorded it twice',
  unseen: 'recorded an event that the file does not show',
  inherited: 'says that another run has it, and the file does not have it',
} as const;

/** Why the sum of a kind does not come out. */
export interface Fault {
  readonly kind: Kind;
  readonly why: keyof typeof faultWords;
  /** Absent: the file does not show the fact. */
  readonly found?: RawFact;
  readonly event?: EventInput;
}

export interface BalanceResult {
  readonly found: Counts;
  readonly recorded: Counts;
  readonly inherited: Counts;
  readonly repeated: Counts;
  readonly excepted: ReadonlyMap<string, Counts>;
  readonly unseen: ReadonlyMap<string, Counts>;
  /** Facts in documents that were refused alone. */
  readonly refused: Counts;
  /** Facts that neither an id, a text nor an exception explains: inherited, compared by number, or left. */
  readonly unexplained: number;
  readonly faults: readonly Fault[];
}

/** An event of a fact. */
interface Fact {
  readonly event: EventInput;
  readonly kind: Kind;
  /** Ids or texts that something found may have. */
  readonly keys: readonly string[];
  /** The source gave it no id, or its text was changed: it is compared by number. */
  readonly isUnnamed: boolean;
  /** A model event may stand for an output, and need not. */
  readonly isOptional: boolean;
  isTaken: boolean;
}

/** Words of importers for copies in one file. */
const copies: readonly Change[] = ['block_repeated', 'id_repeated', 'version_replaced', 'call_merged'];
/** Those of copies that may differ: a newer version, or the report of another signal. */
const versions: readonly Change[] = ['version_replaced', 'call_merged'];

/** How many messages of one id are compared for the beginning of a text. */
const comparedAnswers = 20;

/** Cost: once over the facts and events, and over the texts of prompts and outputs. */
export function weigh({ found, runs, refusedLines, bytesOf }: BalanceInput): BalanceResult {
  const formats = new Set(runs.map(({ format }) => format));
  const events = runs.flatMap((run) => run.events);
  const places = new Set(runs.flatMap(({ remainder }) => remainder.map(({ where }) => where)));
  const sheet = new Sheet();
  const facts = events.flatMap(factOf);
  const compared = found.filter((each) => {
    const exception = placeExceptionOf(each, formats);
    if (exception !== undefined) sheet.except(each.kind, exception);
    return exception === undefined;
  });
  // a line of the conversation has its event before a part of a request that repeats it
  const left = take(
    compared.toSorted((a, b) => Number(isOfRequest(a)) - Number(isOfRequest(b))),
    facts,
    sheet,
  );
  const others = otherTexts([...events, ...runs.flatMap(({ inheritedEvents = [] }) => inheritedEvents)]);
  const insides = insidesOf(found);
  const met = (of: readonly Change[]): boolean =>
    runs.some(({ changes }) => of.some((change) => (changes.get(change) ?? 0) > 0));
  const [isCopyKnown, mayDiffer] = [met(copies), met(versions)];
  const isCopyOf = (one: RawFact, other: RawFact): boolean => {
    const [bytes, others] = [bytesOf(one), bytesOf(other)];
    if (Buffer.from(bytes).equals(others)) return true;
    return (
      isCopyKnown &&
      (one.kind !== 'calls' || mayDiffer || (one.name === other.name && isSameCall(bytes, others)))
    );
  };
  const originals = new Map<string, RawFact>();
  /** Outputs by the id of their message, of which a stream writes the beginning first. */
  const answers = new Map<string, RawFact[]>();
  for (const each of compared) {
    const key = keyOf(each);
    if (!left.has(each) && key !== undefined) originals.set(`${each.kind} ${key}`, each);
    if (each.kind === 'outputs' && each.id !== undefined)
      answers.set(each.id, [each, ...(answers.get(each.id) ?? [])].slice(0, comparedAnswers));
  }
  for (const each of left) {
    const original = originals.get(`${each.kind} ${keyOf(each) ?? ''}`);
    const isCopy =
      (original !== undefined && isCopyOf(each, original)) ||
      (isCopyKnown &&
        answers.get(each.id ?? '')?.some((other) => isBeginning(bytesOf(each), bytesOf(other))) === true);
    const context = {
      formats,
      otherEvent: others.get(each.text ?? ''),
      isInside: insides.has(each),
      original,
      bytesOf,
    };
    const exception = exceptionOf(each, context);
    if (refusedLines.has(each.document)) sheet.add('refused', each.kind);
    else if (isWithin(each, places)) sheet.fault({ kind: each.kind, found: each, why: 'unknown' });
    else if (exception !== undefined) sheet.except(each.kind, exception);
    else if (isCopy) sheet.add('repeated', each.kind);
    else continue;
    left.delete(each);
  }
  const unexplained = left.size;
  inherit(left, runs, { sheet, formats, found: found.length });
  pairByNumber(left, { facts, sheet, formats });
  for (const each of left) sheet.fault({ kind: each.kind, found: each, why: 'unread' });
  for (const fact of facts)
    if (!fact.isTaken && !fact.isOptional) unseen(fact, { sheet, originals, formats, found: found.length });
  return { ...sheet.result(found), unexplained };
}

/** Gives each fact the event with its id or text. Returns the facts without one. */
function take(found: readonly RawFact[], facts: readonly Fact[], sheet: Sheet): Set<RawFact> {
  const byKey = new Map<string, Fact[]>();
  for (const fact of facts)
    for (const key of fact.keys) {
      const name = `${fact.kind} ${key}`;
      const known = byKey.get(name);
      if (known === undefined) byKey.set(name, [fact]);
      else known.push(fact);
    }
  // the first one is taken first, from the end
  for (const waiting of byKey.values()) waiting.reverse();
  const left = new Set<RawFact>();
  for (const each of found) {
    const key = keyOf(each);
    const waiting = key === undefined ? undefined : byKey.get(`${each.kind} ${key}`);
    let fact = waiting?.pop();
    while (fact?.isTaken === true) fact = waiting?.pop();
    if (fact === undefined || isWithoutTool(each, fact)) left.add(each);
    else {
      fact.isTaken = true;
      sheet.add('recorded', each.kind);
    }
  }
  return left;
}

/** An event without the tool that the file shows is none of its call: its importer looked for the name elsewhere. */
const isWithoutTool = ({ kind, name }: RawFact, { event: { resource } }: Fact): boolean =>
  kind === 'calls' &&
  (name ?? unknownTool) !== unknownTool &&
  isObject(resource) &&
  resource['name'] === unknownTool;
const unknownTool = 'unknown';

/** What the importer says it left out because another run has it. */
function inherit(
  left: Set<RawFact>,
  runs: readonly WeighedRun[],
  { sheet, ...context }: { sheet: Sheet; formats: ReadonlySet<string>; found: number },
): void {
  const events = runs.flatMap(({ inheritedEvents = [] }) => inheritedEvents);
  for (const kind of kinds) {
    const unseen = events
      .filter((event) => factOf(event).some((fact) => fact.kind === kind))
      .flatMap((event) => unseenExceptionOf(event, { kind, ...context }) ?? []);
    let wanted = runs.reduce(
      (sum, { inherited }) => inherited.reduce((inner, counts) => inner + counts[kind], sum),
      0,
    );
    for (const each of left) {
      if (wanted === 0) break;
      if (each.kind !== kind) continue;
      wanted -= 1;
      left.delete(each);
      sheet.add('inherited', kind);
    }
    for (; wanted > 0; wanted -= 1) {
      const exception = unseen.pop();
      if (exception === undefined) sheet.fault({ kind, why: 'inherited' });
      else sheet.unsee(kind, exception, 'inherited');
    }
  }
}

/** Pairs what has no id or no unchanged text. */
function pairByNumber(
  left: Set<RawFact>,
  { facts, sheet, formats }: { facts: readonly Fact[]; sheet: Sheet; formats: ReadonlySet<string> },
): void {
  const isByNumber = isCountedByNumber(formats);
  for (const kind of kinds) {
    // from the end, in order
    const open = facts.filter((fact) => fact.kind === kind && !fact.isTaken).toReversed();
    const unnamed = open.filter(({ isUnnamed }) => isUnnamed);
    const named = open.filter(({ isUnnamed }) => !isUnnamed);
    for (const each of left) {
      if (each.kind !== kind) continue;
      const isAny = isByNumber || each.text !== undefined || each.id === undefined;
      const fact = unnamed.pop() ?? (isAny ? named.pop() : undefined);
      if (fact === undefined || isWithoutTool(each, fact)) continue;
      fact.isTaken = true;
      left.delete(each);
      sheet.add('recorded', kind);
    }
  }
}

/** An event whose fact the file does not show. */
function unseen(
  { event, kind, keys }: Fact,
  {
    sheet,
    originals,
    ...context
  }: {
    readonly sheet: Sheet;
    readonly originals: ReadonlyMap<string, RawFact>;
    readonly formats: ReadonlySet<string>;
    readonly found: number;
  },
): void {
  const original = keys.map((key) => originals.get(`${kind} ${key}`)).find((each) => each !== undefined);
  const exception = original === undefined ? unseenExceptionOf(event, { kind, ...context }) : undefined;
  if (original !== undefined) sheet.fault({ kind, found: original, event, why: 'twice' });
  else if (exception !== undefined) sheet.unsee(kind, exception);
  else sheet.fault({ kind, event, why: 'unseen' });
}

const keyOf = ({ id, name, text }: RawFact): string | undefined =>
  text ?? (id === undefined ? (name === undefined ? undefined : `name ${name}`) : `id ${id}`);

/** Whether something stands in one of these places, `line 812` or `line 812 /message/content/2`. */
function isWithin({ document, pointer }: RawFact, places: ReadonlySet<string>): boolean {
  if (places.size === 0) return false;
  for (let below = pointer; below !== ''; below = below.slice(0, below.lastIndexOf('/')))
    if (places.has(`line ${document} ${below}`)) return true;
  return places.has(`line ${document}`);
}

function factOf(event: EventInput): Fact[] {
  const { eventType, metadata = {} } = event;
  const fact = (kind: Kind, keys: readonly string[], isUnnamed: boolean, isOptional = false): Fact[] => [
    { event, kind, keys, isUnnamed, isOptional, isTaken: false },
  ];
  switch (eventType) {
    case 'tool.call':
    case 'tool.result': {
      const id = metadata['sourceToolCallId'] ?? metadata['toolCallId'];
      const isUnnamed = typeof id !== 'string' || /^(import|hook):/.test(id);
      const { resource } = event;
      const name = isObject(resource) ? String(resource['name']) : '';
      const key = isUnnamed ? `name ${name}` : `id ${id}`;
      return fact(eventType === 'tool.call' ? 'calls' : 'results', [key], isUnnamed);
    }
    case 'prompt.submitted':
      return fact('prompts', textsOf(metadata['content']), true);
    case 'output.delivered': {
      const texts = textsOf(metadata['content']);
      return fact('outputs', texts, true, texts.length === 0);
    }
    case 'model.invoked':
    case 'agent.step': {
      const texts = textsOf(metadata['content']);
      return texts.length === 0 ? [] : fact('outputs', texts, true, true);
    }
    default:
      return [];
  }
}

/** Returns the hashes of the texts of content. Long content is its hash already (contract E5). */
function textsOf(content: unknown): string[] {
  if (typeof content === 'string') return content === '' ? [] : [sha256Text(content)];
  if (Array.isArray(content)) return content.flatMap(textsOf);
  if (!isObject(content)) return [];
  const { sha256, truncated, text } = content;
  return truncated === true && typeof sha256 === 'string' ? [`sha256:${sha256}`] : textsOf(text);
}

/** The texts of events that are no fact of a conversation, with their types. */
function otherTexts(events: readonly EventInput[]): Map<string, string> {
  const texts = new Map<string, string>();
  for (const { eventType, metadata } of events)
    if (/^(snapshot\.captured|agent\.step|run\.error)$/.test(eventType))
      for (const text of textsOf(metadata?.['content'])) texts.set(text, eventType);
  return texts;
}

/** What stands inside of a call or a result. */
function insidesOf(found: readonly RawFact[]): ReadonlySet<RawFact> {
  const insides = new Set<RawFact>();
  const around: RawFact[] = [];
  for (const each of found.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    while ((around.at(-1)?.end ?? Infinity) <= each.start) around.pop();
    const outer = around.at(-1);
    if (outer !== undefined && outer.start < each.start) insides.add(each);
    if (each.kind === 'calls' || each.kind === 'results') around.push(each);
  }
  return insides;
}

/** Counts what became of each fact. */
class Sheet {
  readonly #counts = {
    recorded: new Map<Kind, number>(),
    inherited: new Map<Kind, number>(),
    repeated: new Map<Kind, number>(),
    refused: new Map<Kind, number>(),
  };
  readonly #excepted = new Map<string, Map<Kind, number>>();
  readonly #unseen = new Map<string, Map<Kind, number>>();
  readonly #faults: Fault[] = [];

  add(what: 'recorded' | 'inherited' | 'repeated' | 'refused', kind: Kind): void {
    raise(this.#counts[what], kind);
  }

  except(kind: Kind, exception: string): void {
    raise(named(this.#excepted, exception), kind);
  }

  unsee(kind: Kind, exception: string, became: 'recorded' | 'inherited' = 'recorded'): void {
    raise(named(this.#unseen, exception), kind);
    raise(this.#counts[became], kind);
  }

  fault(fault: Fault): void {
    this.#faults.push(fault);
  }

  result(found: readonly RawFact[]): Omit<BalanceResult, 'unexplained'> {
    const all = new Map<Kind, number>();
    for (const { kind } of found) raise(all, kind);
    return {
      found: countsOf(all),
      recorded: countsOf(this.#counts.recorded),
      inherited: countsOf(this.#counts.inherited),
      repeated: countsOf(this.#counts.repeated),
      excepted: new Map([...this.#excepted].map(([name, counts]) => [name, countsOf(counts)])),
      unseen: new Map([...this.#unseen].map(([name, counts]) => [name, countsOf(counts)])),
      refused: countsOf(this.#counts.refused),
      faults: this.#faults.toSorted((a, b) => (a.found?.start ?? Infinity) - (b.found?.start ?? Infinity)),
    };
  }
}

const raise = (counts: Map<Kind, number>, kind: Kind): void =>
  void counts.set(kind, (counts.get(kind) ?? 0) + 1);

const countsOf = (counts: ReadonlyMap<Kind, number>): Counts => fromEach((kind) => counts.get(kind) ?? 0);

function named(of: Map<string, Map<Kind, number>>, name: string): Map<Kind, number> {
  const known = of.get(name) ?? new Map<Kind, number>();
  of.set(name, known);
  return known;
}
