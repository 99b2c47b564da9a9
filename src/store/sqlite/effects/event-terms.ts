/** Writes of the search index. Proven by `test/store/suite/log/event-terms.ts`. */
import type { TermBlock, TermHead } from '../../port/event-terms.ts';
import type { Prepare } from '../../file/statement.ts';
import { raiseTerms, startTerms } from '../../write/event-terms.ts';
import type { Run } from './writing.ts';

export interface EventTermTasks {
  saveTermBlock(project: number, head: TermHead, terms: readonly TermBlock[]): boolean;
}

export function eventTermTasks(prepare: Prepare, run: Run): EventTermTasks {
  const save = prepare(
    'save event term',
    'INSERT INTO event_term (project, term, block, first_ms, last_ms, places) VALUES (?, ?, ?, ?, ?, ?)',
  );
  return {
    saveTermBlock: (project, head, terms) => {
      run(project, startTerms, {});
      if (run(project, raiseTerms, head) === 0) return false;
      for (const { term, firstMs, lastMs, places } of terms) {
        save.run(project, Buffer.from(term), head.blocks, firstMs, lastMs, Buffer.from(places));
      }
      return true;
    },
  };
}
