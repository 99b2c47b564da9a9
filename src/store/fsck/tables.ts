/**
 * `fsck`: the tables whose rows it does not recompute, with the reason. Every other table of either engine is compared
 * with the log or with another table. A new table is listed here, or fsck reports it when it is emptied.
 * Proven by `test/store/fsck/tables.test.ts` and `test/host/data/emptied.long.test.ts`.
 */
export const uncheckedTables = {
  person: 'the identity provider says who signs in; nothing that is recorded depends on the row',
  session: 'ends by itself; a missing session signs somebody out',
  installation: 'the start compares it with the settings of the installation',
  master_key: 'the start compares it with the master key',
  key_file: 'the start compares it with the file of the keys of subjects',
  idempotency:
    'answers for repeats within 24 hours, which the log does not name; `client_event` finds repeated events',
  intake_fact:
    'what telemetry made known for 30 days, which the log does not name: no promise about recorded events rests on it, and `client_event` finds repeated records',
  event_term: 'a cache: the log makes it again, and a search proves nothing',
  event_term_head: 'a cache: the log makes it again',
  export_chunk: 'a copy that can be made again: a download compares it with the digest in `export_job`',
  grown: 'which logs grew, for the signer; the next append writes it again',
} as const satisfies Readonly<Record<string, string>>;
