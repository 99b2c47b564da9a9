/** Writes of the search index. Proven by `test/store/suite/log/event-terms.ts`. */
import type { EventTermRows } from '../../append/effects.ts';
import type { TermBlock, TermHead } from '../../port/event-terms.ts';
import type { Prepare } from '../../file/statement.ts';
import type { Current } from './current.ts';

export interface EventTermTasks {
  saveTermBlock(project: number, head: TermHead, terms: readonly TermBlock[]): boolean;
}

export function eventTermTasks(prepare: Prepare): EventTermTasks {
  const start = prepare(
    'start search index',
    'INSERT INTO event_term_head (project, blocks, changes) VALUES (?, 0, 0) ON CONFLICT DO NOTHING',
  );
  const raise = prepare(
    'raise search index',
    'UPDATE event_term_head SET blocks = blocks + 1 WHERE project = ? AND blocks = ? AND changes = ?',
  );
  const save = prepare(
    'save event term',
    'INSERT INTO event_term (project, term, block, first_ms, last_ms, places) VALUES (?, ?, ?, ?, ?, ?)',
  );
  return {
    saveTermBlock: (project, { blocks, changes }, terms) => {
      start.run(project);
      if (raise.run(project, blocks, changes).changes === 0) return false;
      for (const { term, firstMs, lastMs, places } of terms) {
        save.run(project, Buffer.from(term), blocks, firstMs, lastMs, Buffer.from(places));
      }
      return true;
    },
  };
}

export function eventTermRows(prepare: Prepare, current: Current): EventTermRows {
  const lower = prepare(
    'lower search index',
    `INSERT INTO event_term_head (project, blocks, changes) VALUES (?, 0, 1)
     ON CONFLICT (project) DO UPDATE SET blocks = min(blocks, ?), changes = changes + 1`,
  );
  const dropFrom = prepare('drop event terms', 'DELETE FROM event_term WHERE project = ? AND block >= ?');
  const dropBelow = prepare('drop old terms', 'DELETE FROM event_term WHERE project = ? AND block < ?');
  return {
    dropTermsFrom: (block) => {
      lower.run(current.project, block);
      dropFrom.run(current.project, block);
    },
    dropTermsBelow: (block) => {
      dropBelow.run(current.project, block);
    },
  };
}
