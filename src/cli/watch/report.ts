/**
 * What a watch says: on a terminal one line for each reading of a session, in a pipe one JSON object a line.
 * Tested by `test/cli/watch/run.test.ts`.
 */
import { fileLine } from '../push/file-report.ts';
import type { FileOutcome } from '../push/pass.ts';
import { counted } from '../terminal/numbers.ts';
import type { Out } from '../terminal/out.ts';
import { safe, type Safe } from '../terminal/safe.ts';
import type { Change } from './look.ts';

export type WatchNote =
  | { readonly kind: 'watching'; readonly folder: string; readonly files: number; readonly others: number }
  | Change
  /** It has the name of a recording, and is no file of the folder: a link, or a pipe. */
  | { readonly kind: 'unread'; readonly file: string }
  /** It cannot be read now. `code`: of the system, such as EACCES. */
  | { readonly kind: 'closed'; readonly file: string; readonly code: string }
  | ({ readonly kind: 'taken' } & FileOutcome)
  /** The service cannot be reached: nothing is lost, because the files stay. */
  | { readonly kind: 'waiting'; readonly reason: string }
  | { readonly kind: 'resumed' }
  /** The service does not have what was recorded: all files are read again. */
  | { readonly kind: 'forgotten' }
  | { readonly kind: 'missing'; readonly folder: string };

export class WatchReport {
  readonly #out: Out;
  readonly #now: () => number;

  constructor(out: Out, now: () => number) {
    this.#out = out;
    this.#now = now;
  }

  async say(note: WatchNote): Promise<void> {
    const time = new Date(this.#now()).toISOString();
    if (this.#out.isHuman)
      await this.#out.line(safe`${this.#out.styles.dim(time.slice(11, 19))} ${textOf(note)}`);
    else await this.#out.json({ time, ...note }, 0);
  }
}

function textOf(note: WatchNote): Safe {
  switch (note.kind) {
    case 'watching':
      return safe`watching ${note.folder}: ${counted(note.files, 'recording')}; ${counted(note.others, 'other file')}`;
    case 'taken':
      return note.refusal === undefined
        ? fileLine(note)
        : safe`${fileLine(note)}; the first at line ${note.refusal}`;
    case 'renamed':
      return safe`${note.file}: renamed from ${note.from}`;
    case 'rotated':
      return safe`${note.file}: another file has this name now`;
    case 'truncated':
      return safe`${note.file}: cut or written again; gov reads it from its beginning`;
    case 'vanished':
      return safe`${note.file}: removed; what was recorded stays`;
    case 'unread':
      return safe`${note.file}: not read; gov reads the files of the folder, and follows no links`;
    case 'closed':
      return safe`${note.file}: cannot be read (${note.code}); gov tries again, and records nothing of it until then`;
    case 'waiting':
      return safe`the service cannot be reached (${note.reason}); gov waits, and the files keep what is new`;
    case 'resumed':
      return safe`the service answers again`;
    case 'forgotten':
      return safe`the service does not have what was recorded; gov reads all files again`;
    case 'missing':
      return safe`${note.folder} is missing; gov waits for it`;
  }
}
