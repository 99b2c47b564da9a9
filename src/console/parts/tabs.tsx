interface Tab {
  readonly title: string;
  readonly address: string;
  readonly isCurrent: boolean;
}

/** Links between views of one page, such as the states of a list. */
export const Tabs = ({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(({ title, address, isCurrent }) => (
      <a key={address} href={address} {...(isCurrent ? { 'aria-current': 'true' } : {})}>
        {title}
      </a>
    ))}
  </nav>
);
