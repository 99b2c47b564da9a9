/** Every task by name; the worker thread looks them up here. */
import { bundle } from './bundletask.ts';
import { deriveGraph } from './derive.ts';
import { layers } from './evaluate.ts';
import { exportTask } from './exporttask.ts';
import { declaration, graphBody, lineageBody } from './graphview.ts';
import { policyHistory } from './policyhistory.ts';
import { replay } from './replaytask.ts';
import type { Task, TaskName } from './work.ts';

export const tasks: { readonly [Name in TaskName]: Task<Name> } = {
  deriveGraph,
  layers,
  graphBody,
  lineageBody,
  declaration,
  bundle,
  policyHistory,
  replay,
  export: exportTask,
};
