/** Every task by name. The worker thread runs them from here. */
import { bundle, bundlePart } from './proofs/bundle-task.ts';
import { coverage } from './coverage/task.ts';
import { deriveGraph } from './graphs/derive.ts';
import { index } from './completeness/task.ts';
import { layers } from './proofs/layers.ts';
import { logo } from './reports/branding/logo-task.ts';
import { exportTask } from './exports/task.ts';
import { declaration, knownEdges, graphBody, lineageBody } from './graphs/view.ts';
import { policyHistory } from './policies/history.ts';
import { replay } from './replay/task.ts';
import { searchBlock } from './search/block-task.ts';
import { report } from './reports/task.ts';
import type { Task, TaskName } from './call/work.ts';

export const tasks: { readonly [Name in TaskName]: Task<Name> } = {
  deriveGraph,
  layers,
  graphBody,
  lineageBody,
  declaration,
  knownEdges,
  bundle,
  bundlePart,
  policyHistory,
  replay,
  coverage,
  export: exportTask,
  report,
  logo,
  index,
  searchBlock,
};
