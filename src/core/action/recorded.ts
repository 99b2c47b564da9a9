/**
 * The action of a call in the context that policies see: `{tool, arguments, facts}` give `action`. The plane computes it
 * when it decides, and a replay computes it again. Proven by `test/core/action/recorded.test.ts`.
 */
import { canonicalize, canonicalText, jsonOf, type JsonObject } from '../json/canonical.ts';
import { isObject } from '../json/object.ts';
import { actionHash, actionOf } from './canonical.ts';
import { moneyMapIn } from './money.ts';
import { isBelow, joined } from './places.ts';
import { actionEngine, type Action, type ActionFacts } from './shape.ts';

/** The context with its action, and the hash of the action. */
export interface ActedContext {
  readonly context: JsonObject;
  readonly action: Action;
  /** `sha256:…`. */
  readonly actionHash: string;
}

/** Adds the action to the context of a call. */
export function withAction(context: JsonObject): ActedContext {
  const action = actionOfContext(context);
  return { context: { ...context, action: jsonOf(action) }, action, actionHash: actionHash(action) };
}

/** A caller controls all members of the context. */
function actionOfContext(context: JsonObject): Action {
  const tool = objectIn(context, 'tool');
  const facts = objectIn(context, 'facts');
  return actionOf({
    tool: textIn(tool, 'name') ?? '',
    server: textIn(tool, 'server'),
    client: textIn(objectIn(facts, 'client'), 'name'),
    arguments: objectIn(context, 'arguments'),
    facts: factsIn(facts),
    moneyMap: moneyMapIn(facts['moneyMap']),
  });
}

/**
 * Returns whether the recorded action of a call is the one that its other members give; null where nobody can say: the
 * context was erased, it is older and has no action, or another engine computed it.
 */
export function actionRecomputes(checkpoint: JsonObject | null): boolean | null {
  const context = checkpoint?.['context'];
  const action = isObject(context) ? context['action'] : undefined;
  if (!isObject(context) || !isObject(action) || action['engine'] !== actionEngine) return null;
  return canonicalize(action) === canonicalText(actionOfContext(context));
}

const objectIn = (value: JsonObject, name: string): JsonObject => {
  const member = Object.hasOwn(value, name) ? value[name] : undefined;
  return isObject(member) ? member : {};
};

const textIn = (value: JsonObject, name: string): string | null => {
  const member = Object.hasOwn(value, name) ? value[name] : undefined;
  return typeof member === 'string' ? member : null;
};

/** Whether a folder is no workspace, because everything or a home lies in it. */
const isTooWide = (workspace: string | null, home: string | null): boolean =>
  workspace !== null &&
  (workspace === '/' || (home !== null && home !== workspace && isBelow(home, workspace)));

function factsIn(facts: JsonObject): ActionFacts {
  const path = (name: string): string | null => {
    const text = textIn(facts, name);
    return text?.startsWith('/') === true ? joined('/', text) : null;
  };
  const texts = (name: string): [string, string][] =>
    Object.entries(objectIn(facts, name)).flatMap(([key, text]) =>
      typeof text === 'string' ? [[key, text]] : [],
    );
  const home = path('home');
  const workspace = path('workspace');
  return {
    cwd: path('cwd'),
    home,
    workspace: isTooWide(workspace, home) ? null : workspace,
    real: Object.fromEntries(texts('real')),
    ...(Object.hasOwn(facts, 'remotes') ? { remotes: Object.fromEntries(texts('remotes')) } : {}),
    plane: textIn(facts, 'plane'),
  };
}
