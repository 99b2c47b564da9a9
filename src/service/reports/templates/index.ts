/** The built-in templates by id. Proven by `test/service/reports/handlers.test.ts`. */
import { reportTemplateIds, type ReportTemplateId } from '../../../contract/report-words.ts';
import { columns, type Template } from './source.ts';

const example: Template = {
  title: 'Events of a period',
  summary: 'How many leaves does the log have?',
  tables: [
    {
      id: 'leaves',
      title: 'Leaves',
      lists: 'the leaves of the log',
      columns: columns({ index: ['Index', 'number'], bytes: ['Bytes', 'number'] }),
    },
  ],
  build: async ({ reader, projectId, treeSize, breathe }) => {
    const rows: (readonly [number, number])[] = [];
    for (let from = 0; from < treeSize; from += 100) {
      const leaves = await reader.leaves(projectId, 'audit', { from, to: Math.min(from + 100, treeSize) });
      rows.push(...leaves.map(({ index, record }) => [index, record.length] as const));
      await breathe();
    }
    return {
      contents: {
        checks: [{ name: 'log', status: 'pass', detail: `the log has ${treeSize} leaves` }],
        figures: [{ name: 'leaves', label: 'Leaves', value: treeSize, kind: 'number' }],
        sections: [{ title: 'Leaves', blocks: [{ table: 'leaves' }] }],
        tables: [
          {
            id: 'leaves',
            title: 'Leaves',
            columns: example.tables[0].columns,
            population: treeSize,
            scope: 'all leaves',
            omitted: null,
            exceptions: 0,
            rows,
            completeness: { status: 'not_shown', detail: 'an example' },
          },
        ],
      },
      attachments: new Map(),
    };
  },
};

export const templates = Object.fromEntries(
  reportTemplateIds.map((id) => [id, id === 'run-evidence' ? { ...example, needsRun: true } : example]),
) as Readonly<Record<ReportTemplateId, Template>>;
