/**
 * Labelled fields of a dialog. What the API refuses about a field is shown below it: the name of an input is the JSON
 * pointer of its member, without the first slash. Tested by `test/console/fields.test.ts`.
 */
import { createContext, type ComponentChildren, type InputHTMLAttributes } from 'preact';
import { useContext, useEffect, useId } from 'preact/hooks';
import type { FieldError } from '../../contract/problems.ts';
import { RemoteLine } from './remote-text.tsx';

export interface FieldRefusals {
  /** What the API refused at the last try, about fields that have not changed since. */
  readonly refused: readonly FieldError[];
  /** A field changed: what was refused about it no longer counts. Always the same function. */
  readonly forget: (name: string) => void;
}

export const FieldErrors = createContext<FieldRefusals>({ refused: [], forget: () => {} });

interface InputProps {
  readonly id: string;
  readonly name: string;
  readonly 'aria-invalid'?: true;
  readonly 'aria-describedby'?: string;
}

interface FieldProps {
  readonly label: string;
  readonly name: string;
  readonly children: (input: InputProps, changed: () => void) => ComponentChildren;
}

/** A label, its input, and what is wrong with it. */
export function Field({ label, name, children }: FieldProps) {
  const id = useId();
  const { refused: all, forget } = useContext(FieldErrors);
  // a field that leaves, or becomes another one of a list, takes its error with it
  useEffect(() => () => forget(name), [name, forget]);
  const detail = all.find(({ pointer }) => pointer === `/${name}`)?.detail;
  const errorId = `${id}-error`;
  const refused =
    detail === undefined ? {} : ({ 'aria-invalid': true, 'aria-describedby': errorId } as const);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, name, ...refused }, () => forget(name))}
      {detail !== undefined && (
        <p id={errorId} class="field-error">
          <RemoteLine text={detail} />
        </p>
      )}
    </div>
  );
}

interface ValueProps<Value extends string> {
  readonly label: string;
  readonly name: string;
  readonly value: Value;
  readonly set: (value: Value) => void;
}

interface TextFieldProps extends ValueProps<string> {
  readonly maxLength?: number;
  /** Default: text. */
  readonly type?: 'url' | 'email' | 'time';
  readonly isRequired?: boolean;
  readonly placeholder?: string;
}

/** A line of text. */
export const TextField = ({ label, name, set, isRequired = true, ...more }: TextFieldProps) => (
  <Field label={label} name={name}>
    {(input, changed) => (
      <input
        {...input}
        // the attributes are typed for each type of an input alone
        {...(more as InputHTMLAttributes<HTMLInputElement>)}
        required={isRequired}
        onInput={({ currentTarget }) => {
          changed();
          set(currentTarget.value);
        }}
      />
    )}
  </Field>
);

interface SelectFieldProps<Value extends string> extends ValueProps<Value> {
  readonly options: readonly (readonly [value: Value, text: string])[];
}

/** One of several values. */
export const SelectField = <Value extends string>({
  label,
  name,
  value,
  set,
  options,
}: SelectFieldProps<Value>) => (
  <Field label={label} name={name}>
    {(input, changed) => (
      <select
        {...input}
        value={value}
        onChange={({ currentTarget }) => {
          changed();
          set(currentTarget.value as Value);
        }}
      >
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    )}
  </Field>
);

interface ChoicesProps<Value extends string> {
  readonly values: readonly Value[];
  readonly chosen: readonly Value[];
  readonly choose: (chosen: readonly Value[]) => void;
  readonly text: (value: Value) => string;
  /** A form in which nothing is chosen is not sent. */
  readonly isRequired?: boolean;
}

/** Checkboxes, of which several may be chosen. */
export const Choices = <Value extends string>({
  values,
  chosen,
  choose,
  text,
  isRequired = false,
}: ChoicesProps<Value>) => (
  <>
    {values.map((value) => (
      <label key={value} class="choice">
        <input
          type="checkbox"
          checked={chosen.includes(value)}
          required={isRequired && chosen.length === 0}
          onChange={({ currentTarget: { checked } }) =>
            choose(values.filter((each) => (each === value ? checked : chosen.includes(each))))
          }
        />
        <span>{text(value)}</span>
      </label>
    ))}
  </>
);
