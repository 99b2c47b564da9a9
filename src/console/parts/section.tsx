import type { ComponentChildren } from 'preact';

interface SectionProps {
  readonly title: string;
  /** Of its heading; unique on the page. */
  readonly id: string;
  /** Beside the heading, such as a link to all. */
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A part of a page with a heading, in a frame. */
export const Section = ({ title, id, aside, children }: SectionProps) => (
  <section class="card" aria-labelledby={id}>
    <div class="card-head">
      <h2 id={id}>{title}</h2>
      {aside}
    </div>
    {children}
  </section>
);
