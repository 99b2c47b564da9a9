import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { RemoteLine } from './remote-text.tsx';

interface DialogProps {
  /** May contain a name that others wrote. */
  readonly title: string;
  readonly close: () => void;
  /** For a table or a difference. */
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
}

/** A modal dialog while it is rendered: Escape closes it, and the focus returns to where it was. */
export function Dialog({ title, close, isWide = false, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={element} class={isWide ? 'wide' : ''} aria-labelledby={titleId} onClose={close}>
      <h2 id={titleId}>
        <RemoteLine text={title} />
      </h2>
      {children}
    </dialog>
  );
}
