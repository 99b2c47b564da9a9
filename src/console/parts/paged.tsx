/**
 * A list of the API that comes in pages, and the line below it that says whether it is whole. The open list shows by itself
 * what is new, without moving what a person reads. Tested by `test/console/refresh.test.ts`.
 */
import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { isLost, reportLoss, useBack } from '../browser/connection.tsx';
import { useRepeat } from '../browser/repeat.ts';
import { Button } from './button.tsx';
import { ErrorBox } from './error-box.tsx';
import { Loading } from './loading.tsx';
import { firstPage, newerPage, nextPage, type Page, type RowsRead } from './rows-read.ts';
import { Table, type Column } from './table.tsx';

/** Milliseconds between looks for new rows; `busyMs`: while the list has rows that change soon. */
const [calmMs, busyMs] = [10_000, 1500];

export interface PagedList<Row> {
  /** Undefined until the first page is there. */
  readonly rows: readonly Row[] | undefined;
  readonly idOf: (row: Row) => string;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly isCut: boolean;
  /** New rows that would move what a person reads. */
  readonly waiting: number;
  more(): void;
  /** Starts again with the first page. */
  reload(): void;
}

interface PageQuery {
  readonly limit: number;
  /** Undefined for the first page. */
  readonly cursor: string | undefined;
}

interface PagedOptions<Row> {
  /** Everything that `load` depends on. */
  readonly key: string;
  readonly load: (page: PageQuery, signal: AbortSignal) => Promise<{ readonly body: Page<Row> }>;
  readonly idOf: (row: Row) => string;
  /** Whether a row changes soon, such as an export that is built. */
  readonly isBusy?: (row: Row) => boolean;
  readonly perPage?: number;
}

interface State<Row> {
  readonly key: string;
  readonly read: RowsRead<Row> | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
}

/** Whether the page is scrolled, or the pointer or the focus is in a table: rows that move would mislead. */
const isReading = (): boolean =>
  scrollY > 0 || document.querySelector('.table-frame:is(:hover, :focus-within), dialog[open]') !== null;

export function usePaged<Row>({ key, idOf, load, isBusy, perPage = 50 }: PagedOptions<Row>): PagedList<Row> {
  const start: State<Row> = { key, read: undefined, error: null, isLoading: true };
  const [state, setState] = useState(start);
  const [round, setRound] = useState(0);
  const latest = useRef({ load, idOf });
  latest.current = { load, idOf };
  const stop = useRef(new AbortController());
  /** An answer counts only if no later call has started. */
  const calls = useRef(0);
  const ask = useCallback(
    async (cursor: string | undefined, isQuiet = false): Promise<void> => {
      const { signal } = stop.current;
      const call = (calls.current += 1);
      const set = (change: (last: State<Row>) => Partial<State<Row>>): void => {
        if (signal.aborted || call !== calls.current) return;
        // rows of another filter are not rows of this one
        const ofKey = (last: State<Row>): State<Row> => (last.key === key ? last : start);
        setState((last) => ({ ...ofKey(last), error: null, isLoading: false, ...change(ofKey(last)) }));
      };
      try {
        const { body: page } = await latest.current.load({ limit: perPage, cursor }, signal);
        set(({ read }) => {
          if (read === undefined) return { read: firstPage(page) };
          if (cursor !== undefined) return { read: nextPage(read, page) };
          if (!isQuiet) return { read: firstPage(page) };
          return { read: newerPage(read, page, { idOf: latest.current.idOf, mayMove: !isReading() }) };
        });
      } catch (error) {
        // the line above the page says that the server is gone
        if (!(isQuiet && reportLoss(error))) set(() => ({ error }));
      }
    },
    [key, perPage],
  );
  useEffect(() => {
    stop.current = new AbortController();
    void ask(undefined);
    return () => stop.current.abort();
  }, [ask, round]);
  const { read, error, isLoading } = state.key === key ? state : start;
  const { rows, cursor = null, waiting = 0 } = read ?? {};
  const refresh = async (): Promise<void> => {
    if (!isLost() && !isLoading) await ask(undefined, true);
  };
  useRepeat(refresh, isBusy !== undefined && rows?.some(isBusy) === true ? busyMs : calmMs);
  const reload = (): void => {
    setState({ key, read, error: null, isLoading: true });
    setRound((last) => last + 1);
  };
  const more = (): void => {
    if (cursor === null || isLoading) return;
    setState({ key, read, error: null, isLoading: true });
    void ask(cursor);
  };
  useBack(() => {
    if (error === null) void refresh();
    else if (cursor === null) reload();
    else more();
  });
  return { rows, idOf, error, isLoading, isCut: cursor !== null, waiting, more, reload };
}

interface PagedTableProps<Row> extends PagedFootProps {
  readonly paged: PagedList<Row>;
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  /** Shown where there are no rows. */
  readonly empty?: ComponentChildren;
}

/** The rows of a list, or why there are none, and the line below them. */
export const PagedTable = <Row,>({ paged, noun, caption, columns, empty }: PagedTableProps<Row>) => (
  <>
    {paged.rows === undefined && paged.isLoading && <Loading what={`the ${noun}`} />}
    {paged.rows?.length === 0 && empty}
    {paged.rows !== undefined && paged.rows.length > 0 && (
      <Table caption={caption} columns={columns} rows={paged.rows} keyOf={paged.idOf} />
    )}
    <PagedFoot paged={paged} noun={noun} />
  </>
);

interface PagedFootProps {
  readonly paged: Omit<PagedList<unknown>, 'idOf'>;
  /** In the plural: `runs`. */
  readonly noun: string;
}

/** How many rows there are, whether there are more or new ones, and the buttons for them. */
export function PagedFoot({ paged, noun }: PagedFootProps) {
  const { rows, error, isLoading, isCut, waiting, more, reload } = paged;
  if (error !== null) return <ErrorBox error={error} retry={reload} />;
  if (rows === undefined || (rows.length === 0 && !isCut)) return null;
  const showNew = (): void => {
    reload();
    scrollTo(0, 0);
    document.getElementById('content')?.focus();
  };
  return (
    <div class={waiting > 0 ? 'paged-foot news' : 'paged-foot'}>
      <p class="quiet" role="status">
        {lineOf(rows.length, noun, isCut)}
        {waiting > 0 && ` New: ${waiting}.`}
      </p>
      {waiting > 0 && <Button onClick={showNew}>Show new {noun}</Button>}
      {isCut && (
        <Button onClick={more} isBusy={isLoading}>
          Show more
        </Button>
      )}
    </div>
  );
}

function lineOf(count: number, noun: string, isCut: boolean): string {
  if (isCut) return `The first ${count} ${noun}; there are more.`;
  return count === 1 ? 'There are no more.' : `All ${count} ${noun}.`;
}
