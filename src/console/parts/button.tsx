import type { ButtonHTMLAttributes } from 'preact';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** `main`: the one action of a page. `danger`: it cannot be undone. Default: an ordinary one. */
  readonly kind?: 'main' | 'danger' | 'quiet';
  /** Shows that its work is running, and takes no second click. */
  readonly isBusy?: boolean;
}

export const Button = ({ kind, isBusy = false, children, class: more, ...rest }: ButtonProps) => (
  <button
    type="button"
    {...rest}
    class={['button', kind, more].filter(Boolean).join(' ')}
    aria-busy={isBusy}
    disabled={isBusy || rest.disabled === true}
  >
    {children}
  </button>
);
