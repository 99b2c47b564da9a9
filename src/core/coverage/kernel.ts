/**
 * Programs that the kernel saw below a client of agents, as reports of calls. A shell with a line is the call whose line it is, or
 * one that nobody decided. Only programs that the client itself started count: what those start belongs to them.
 * Tested by `test/core/coverage/kernel.test.ts` with recordings of two clients.
 */
import { newCall, noteTimes, unseen, type CallFacts } from './calls.ts';
import { clientFacts, type ClientFacts } from './clients.ts';
import { joinMs } from './join.ts';
import type { ReadEvent } from './read-event.ts';
import { governs } from './report.ts';

/** A program that the client started, with all programs that its process became. */
interface Started {
  readonly client: string;
  readonly event: ReadEvent;
  readonly programs: {
    readonly name: string;
    readonly line: string;
    readonly callHash: string | null;
    readonly isCut: boolean;
  }[];
}

/** More calls of one line are not looked at for a program. */
const mostAlike = 64;

export class KernelPrograms {
  /** Processes of clients by their id. */
  readonly #clients = new Map<number, readonly [name: string, facts: ClientFacts]>();
  readonly #started: Started[] = [];
  readonly #open = new Map<number, Started>();
  /** Runs of their own that the programs of this run have, with the decisions about their calls. */
  readonly linked = new Set<string>();

  /** Takes the next event. Cost: about 5 µs. Its members are the recorder's word. */
  add(event: ReadEvent): void {
    const { pid, ppid, path, argv, callHash, cut, run } = event.metadata;
    if (event.type === 'run.linked' && typeof run === 'string') this.linked.add(run);
    if (event.source !== 'kernel' || event.type !== 'x.kernel.exec') return;
    if (typeof pid !== 'number' || typeof ppid !== 'number' || typeof path !== 'string') return;
    const words = Array.isArray(argv) ? argv.map(String) : [];
    const [name = ''] = [words[0] ?? path].map((word) => word.slice(word.lastIndexOf('/') + 1));
    const parent = this.#clients.get(ppid);
    if (!/^(?:sh|bash|env|bwrap|apply-seccomp)$/.test(name) && !this.#open.has(pid))
      this.#noteClient(pid, parent, [path, ...words.slice(1, 3)]);
    if (parent === undefined || this.#clients.has(pid)) return;
    const known = this.#open.get(pid);
    const started = known?.client === parent[0] ? known : { client: parent[0], event, programs: [] };
    if (started !== known) this.#started.push(started);
    this.#open.set(pid, started);
    const line = [name, ...words.slice(1)].join(' ');
    const hash = typeof callHash === 'string' ? callHash : null;
    started.programs.push({ name, line, callHash: hash, isCut: cut === true || !Array.isArray(argv) });
  }

  /** The first process of a client, and those of the same client that it starts itself: some start a second one of their own. */
  #noteClient(
    pid: number,
    parent: readonly [string, ClientFacts] | undefined,
    words: readonly string[],
  ): void {
    if (this.#clients.size > 0 && parent === undefined) return;
    const found = [...(parent === undefined ? clientFacts : [parent])].find(([, { process }]) =>
      words.some((word) => process.test(word)),
    );
    if (found !== undefined) this.#clients.set(pid, found);
  }

  /**
   * Notes at each call that the kernel saw it. Returns the calls that nothing else of the run reports. `elsewhere`: the calls of the
   * linked runs; null where nobody read them.
   */
  finish(calls: readonly CallFacts[], elsewhere: readonly CallFacts[] | null): CallFacts[] {
    const isOpen = elsewhere === null && this.linked.size > 0;
    const others = new Set(elsewhere);
    const byHash = new Map<string, CallFacts[]>();
    for (const call of [...calls, ...others]) {
      for (const hash of new Set(call.reports.map(({ callHash }) => callHash))) {
        const alike = byHash.get(hash ?? '') ?? [];
        if (hash !== null) byHash.set(hash, alike);
        alike.push(call);
      }
    }
    return this.#started.flatMap((started) => {
      const { client, event, programs } = started;
      const own = clientFacts.get(client)?.own ?? [];
      // what a program of the client becomes later is its own word
      if (own.some((pattern) => pattern.test(programs[0]?.line ?? ''))) return [];
      const shell = programs.findLast(({ name }) => /^(?:ba|z|da|k|fi)?sh$/.test(name));
      const found = programs
        .flatMap(({ callHash }) => nearest(byHash.get(callHash ?? '') ?? [], event))
        .find((call) => !call.sightings.has('kernel'));
      const isSure = shell !== undefined && !(found === undefined && (isOpen || shell.isCut));
      const isOfOther = found !== undefined && others.has(found);
      const call = found === undefined || isOfOther ? newCall(null, event) : found;
      if (isOfOther) Object.assign(call, decisionOf(found));
      const name = (shell ?? programs[0])?.name ?? '';
      call.tool ??= name;
      call.sightings.set('kernel', {
        ...unseen(),
        requested: true,
        ...(isSure ? { ran: true } : { failed: true, mistakesRefusals: true }),
      });
      call.reports.push({
        source: 'kernel',
        decides: false,
        client,
        tool: name,
        kind: 'shell',
        callHash: shell?.callHash ?? null,
        argumentsHash: null,
      });
      noteTimes(call, event);
      if (isOfOther) found.sightings.set('kernel', unseen());
      return call === found ? [] : [call];
    });
  }
}

/** What a call of another run has of its decision. */
const decisionOf = ({
  id,
  tool,
  decision,
  isStopped,
  sightings,
  reports,
}: CallFacts): Partial<CallFacts> => ({
  id,
  tool,
  decision,
  isStopped,
  sightings: new Map([...sightings].filter(([source]) => governs(source))),
  reports: reports.filter(({ decides }) => decides),
});

/**
 * The calls whose program this may be. A decision comes before its program, and clocks of one machine differ little. Calls that are too
 * old for it are too old for later programs, and leave the list.
 */
function nearest(alike: CallFacts[], { atMs }: ReadEvent): CallFacts[] {
  const isOver = (call: CallFacts | undefined): boolean =>
    call !== undefined && (call.sightings.has('kernel') || atMs - call.lastMs >= joinMs);
  let over = 0;
  while (isOver(alike[over])) over += 1;
  alike.splice(0, over);
  return alike.slice(0, mostAlike).filter(({ startMs }) => atMs > startMs - 1000);
}
