/**
 * Events of source `kernel` from what other programs saw of a machine: programs that started (`x.kernel.exec`), connections
 * (`x.kernel.connect`), and all else as it is (`x.kernel.other`). `argv` is there where the source keeps the words apart;
 * `commandLine` where it joins them. No decision comes with them. Tested by the tests of each importer.
 */
import { RunBuilder, type Draft, type ImportContext, type Identity, type Source } from '../run.ts';
import type { SourceTime } from '../time.ts';

export interface SeenAt {
  readonly at: SourceTime | null;
  readonly key?: string | undefined;
}

export interface SeenProgram extends SeenAt {
  readonly pid: number | undefined;
  readonly ppid: number | undefined;
  readonly path: string | undefined;
  readonly argv?: readonly string[] | undefined;
  readonly commandLine?: string | undefined;
  readonly more?: Source;
}

export interface SeenConnection extends SeenAt {
  readonly host: string;
  readonly port: number | undefined;
  readonly pid: number | undefined;
  readonly more?: Source;
}

export const numberIn = (record: Source, name: string): number | undefined =>
  typeof record[name] === 'number' ? record[name] : undefined;

export class KernelWriter {
  readonly #run: RunBuilder;
  readonly #importer: string;

  constructor(importer: string, identity: Identity, context: ImportContext) {
    this.#importer = importer;
    this.#run = new RunBuilder(importer, identity, context);
  }

  started({ at, key, path, pid, ppid, argv, commandLine, more }: SeenProgram): void {
    this.#add({
      eventType: 'x.kernel.exec',
      action: 'exec',
      resource: { name: (path ?? argv?.[0] ?? '').replace(/^.*\//, '') || 'unnamed', type: 'program' },
      metadata: { pid, ppid, path, argv, commandLine, ...more },
      at,
      key,
    });
  }

  connected({ at, key, host, port, pid, more }: SeenConnection): void {
    this.#add({
      eventType: 'x.kernel.connect',
      action: 'connect',
      metadata: { host, port, pid, ...more },
      at,
      key,
    });
  }

  /** What is neither, kept whole. */
  other(kind: string, record: unknown, { at, key }: SeenAt): void {
    this.#add({ eventType: 'x.kernel.other', action: 'observe', metadata: { kind, record }, at, key });
  }

  finish(items: number) {
    return this.#run.finish(items);
  }

  #add({ metadata, ...draft }: Omit<Draft, 'actor'>): void {
    const facts = { recordedBy: 'kernel', importer: this.#importer, ...metadata };
    this.#run.add({ ...draft, actor: { name: this.#importer, type: 'sensor' }, metadata: facts });
  }
}
