/** The parts of JSON Schema that the contract uses. Tested by `test/cli/program/manifest.test.ts`. */

export interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  /** Of a free-form object. */
  readonly patternProperties?: unknown;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly const?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
}

/** A schema of the contract is JSON Schema, plus symbols of its library, which this ignores. */
export const schemaOf = (value: unknown): Schema =>
  typeof value === 'object' && value !== null ? (value as Schema) : {};
