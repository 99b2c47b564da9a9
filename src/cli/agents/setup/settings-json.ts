/**
 * Settings files in JSON, in the form that Claude Code, Gemini CLI and Cursor share: lists of hooks by event. What the
 * user has stays, in its order and with its indent. Tested by `test/cli/agents/install.test.ts`.
 */
import { isObject } from '../../../core/json/object.ts';
import { cannotEdit, isOwnLine } from './edit.ts';

export type Settings = Record<string, unknown>;

/** Returns the object of a file; an empty one for no file. Errors: exit 2. */
export function readSettings(path: string, text: string | null): Settings {
  let value: unknown = null;
  try {
    value = text === null || text.trim() === '' ? {} : JSON.parse(text);
  } catch {
    // the message below says it
  }
  if (!isObject(value)) throw cannotEdit(path, 'a JSON object without comments');
  return value;
}

export function writeSettings(settings: Settings, like: string | null): string {
  const indent = /^[ \t]+/m.exec(like ?? '')?.[0] ?? 2;
  return `${JSON.stringify(settings, null, indent)}${like === null || like.endsWith('\n') ? '\n' : ''}`;
}

/** Returns the lists of hooks by event. Errors: exit 2 if they have another form. */
function hooksIn(path: string, settings: Settings): Record<string, unknown[]> {
  const hooks = settings['hooks'] ?? {};
  if (!isObject(hooks)) throw cannotEdit(path, 'an object in hooks');
  const isListed = Object.values(hooks).every((value) => Array.isArray(value) || !isHookEvent(value));
  if (!isListed) throw cannotEdit(path, 'a list for each event in hooks');
  return hooks as Record<string, unknown[]>;
}

/** Gemini CLI has switches beside the events. */
const isHookEvent = (value: unknown): boolean => typeof value === 'object';

/** Adds one entry to the list of each event. */
export function addHooks(path: string, settings: Settings, entries: Readonly<Record<string, unknown>>): void {
  const hooks = hooksIn(path, settings);
  for (const [event, entry] of Object.entries(entries)) hooks[event] = [...(hooks[event] ?? []), entry];
  settings['hooks'] = hooks;
}

/** Removes our entries and what is empty without them. Returns whether there were any. */
export function removeHooks(path: string, settings: Settings): boolean {
  const hooks = hooksIn(path, settings);
  let found = false;
  for (const [event, list] of Object.entries(hooks)) {
    if (!Array.isArray(list)) continue;
    const kept = list.flatMap((entry) => {
      const left = withoutOwn(entry);
      found ||= left !== entry;
      return left === null ? [] : [left];
    });
    if (kept.length === 0 && list.length > 0) delete hooks[event];
    else hooks[event] = kept;
  }
  if (found && Object.keys(hooks).length === 0) delete settings['hooks'];
  return found;
}

/** Returns the entry without our commands; null if nothing is left. Cursor has the command in the entry itself. */
function withoutOwn(entry: unknown): unknown {
  if (!isObject(entry)) return entry;
  if (isOwnLine(entry['command'])) return null;
  const inner = entry['hooks'];
  if (!Array.isArray(inner)) return entry;
  const kept = inner.filter((each) => !(isObject(each) && isOwnLine(each['command'])));
  if (kept.length === inner.length) return entry;
  return kept.length === 0 ? null : { ...entry, hooks: kept };
}

/** Our hooks of an event, flat. */
export function ownHooks(path: string, settings: Settings, event: string): Settings[] {
  const list = hooksIn(path, settings)[event] ?? [];
  return list
    .flatMap((entry) => (isObject(entry) && Array.isArray(entry['hooks']) ? entry['hooks'] : [entry]))
    .filter((each): each is never => isObject(each) && isOwnLine((each as Settings)['command']));
}
