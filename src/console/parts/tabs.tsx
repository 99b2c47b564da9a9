/** Views of one page, each with an address of its own. */
interface TabsProps {
  readonly label: string;
  readonly tabs: readonly { readonly id: string; readonly name: string; readonly href: string }[];
  readonly current: string;
}

export const Tabs = ({ label, tabs, current }: TabsProps) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(({ id, name, href }) => (
      <a key={id} href={href} {...(id === current ? { 'aria-current': 'page' as const } : {})}>
        {name}
      </a>
    ))}
  </nav>
);
