/** Which module runs each hand-made command. Loaded when called, so that a command costs only its own. */
import type { Invocation } from '../command.ts';

/** Each module's `run` takes the invocation of its own spec, which the parser builds from that spec. */
type Loader = () => Promise<{ run: (invocation: Invocation<never>) => Promise<number | void> }>;

export const loaders: Readonly<Record<string, Loader>> = {
  quickstart: () => import('./quickstart.ts'),
  'events push': () => import('./events-push.ts'),
  'events tail': () => import('./events-tail.ts'),
  'proofs create': () => import('./proofs-create.ts'),
  'proofs get': () => import('./proofs-get.ts'),
  'proofs verify': () => import('./proofs-verify.ts'),
  'graphs get': () => import('./graphs-get.ts'),
  'graphs lineage': () => import('./graphs-lineage.ts'),
  'policy create': () => import('./policy-create.ts'),
  'policy get': () => import('./policy-get.ts'),
  'policy publish': () => import('./policy-publish.ts'),
  'policy transition': () => import('./policy-transition.ts'),
  'policy rollback': () => import('./policy-rollback.ts'),
  'policy evaluate': () => import('./policy-evaluate.ts'),
  'policy simulate': () => import('./policy-simulate.ts'),
  'jobs wait': () => import('./jobs-wait.ts'),
  'plane init': () => import('./plane-init.ts'),
  'plane serve': () => import('./plane-serve.ts'),
  'plane status': () => import('./plane-status.ts'),
  'log fsck': () => import('./log-fsck.ts'),
  'context list': () => import('./context-list.ts'),
  'context use': () => import('./context-use.ts'),
  'context show': () => import('./context-show.ts'),
  completion: () => import('./completion.ts'),
  commands: () => import('./commands.ts'),
  help: () => import('./help.ts'),
  version: () => import('./version.ts'),
};
