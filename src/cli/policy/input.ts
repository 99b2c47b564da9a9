/** Checkpoints in files: `{step?, context}`, or without the member context the context itself (contract O5). */
import type { Json, JsonObject } from '../../core/json/parse.ts';
import type { PolicyInput } from '../../core/policy/evaluate/compile.ts';
import { usage } from '../program/exit.ts';
import { isObject, objectOf, readInput } from '../program/input.ts';
import type { Place } from '../program/input.ts';

export const readCheckpoint = async (file: string, place: Place): Promise<PolicyInput> =>
  checkpointOf(objectOf(await readInput(file, place)), file);

/** Errors: exit 2; `where` names the file or case. */
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

/** As the service takes it. */
export const wireCheckpoint = ({ step, context }: PolicyInput): { step?: number; context: JsonObject } =>
  step === undefined ? { context } : { step, context };
