interface TextFieldProps {
  readonly label: string;
  readonly name: string;
  readonly value: string;
  readonly set: (value: string) => void;
  readonly maxLength?: number;
  readonly isUrl?: boolean;
  readonly isRequired?: boolean;
  readonly placeholder?: string;
}

/** A labelled line of text in a dialog. */
export function TextField({ label, set, isRequired = true, isUrl = false, ...more }: TextFieldProps) {
  const input = {
    ...more,
    required: isRequired,
    onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => set(currentTarget.value),
  };
  return (
    <label class="field">
      {label}
      {isUrl ? <input type="url" {...input} /> : <input {...input} />}
    </label>
  );
}
