/**
 * Policy inputs in files: `{step?, context}`, or the context alone (contract O5).
 * Tested by `test/cli/commands/policy/create.test.ts`.
 */
import type { Json, JsonObject } from '../../core/json/parse.ts';
import type { PolicyInput } from '../../core/policies/evaluate/compile.ts';
import { usage } from '../program/exit.ts';
import { objectOf, readInput, type InputIo } from '../terminal/input.ts';
import { isObject } from '../../core/json/object.ts';

export const readCheckpoint = async (file: string, place: InputIo): Promise<PolicyInput> =>
  checkpointOf(objectOf(await readInput(file, place)), file);

/** `where` names the file or case. Errors: exit 2. */
export function checkpointOf(value: Json | undefined, where: string): PolicyInput {
  if (!isObject(value)) throw usage(`${where}: expected a checkpoint, an object such as {"context": {…}}`);
  if (!Object.hasOwn(value, 'context')) return { context: value };
  const other = Object.keys(value).find((name) => name !== 'context' && name !== 'step');
  if (other !== undefined)
    throw usage(`${where}: expected step and context in a checkpoint, got ${JSON.stringify(other)}`);
  const { context, step } = value;
  if (!isObject(context)) throw usage(`${where}: expected an object as context`);
  if (step === undefined) return { context };
  if (typeof step === 'number' && Number.isInteger(step) && step >= 0) return { step, context };
  throw usage(`${where}: expected a whole number from 0 as step`);
}

/** Returns the form that the service accepts. */
export const wireCheckpoint = ({ step, context }: PolicyInput): { step?: number; context: JsonObject } =>
  step === undefined ? { context } : { step, context };
