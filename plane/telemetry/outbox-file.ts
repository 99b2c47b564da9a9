/** The database file of the outbox: its connection and its prepared statements. */
import type { Connection, Value } from '../../src/store/file/connection.ts';
import type { Statement } from '../../src/store/file/statement.ts';
import { reportColumns, reportOf, type ReportRow, type StoredReport } from './outbox-rows.ts';

export class OutboxFile {
  readonly #db: Connection;
  readonly #statements = new Map<string, Statement>();

  constructor(db: Connection) {
    this.#db = db;
  }

  close(): void {
    this.#db.close();
  }

  prepare<Row = unknown>(sql: string): Statement<Row> {
    const statement = this.#statements.get(sql) ?? this.#db.prepare<Value[], unknown>(sql);
    this.#statements.set(sql, statement);
    return statement as Statement<Row>; // each text is prepared for one kind of row
  }

  /** The first report that meets an SQL condition, or null. */
  report(condition: string, ...values: Value[]): StoredReport | null {
    const row = this.prepare<ReportRow>(`SELECT ${reportColumns} FROM report ${condition}`).get(...values);
    return reportOf(row);
  }

  /** Runs `work` in one transaction: all of its changes are stored, or none. */
  atomically<Result>(work: () => Result): Result {
    return this.#db.transaction(work)();
  }
}
