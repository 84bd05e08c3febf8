// Keeps the theme that the visitor chose. No module: it runs before the page is shown, so that no page flashes in the other theme.
'use strict';

(() => {
  const KEY = 'muster-theme';
  const root = document.documentElement;

  /** @returns {string} `light`, `dark`, or `system` where nothing else is kept */
  function kept() {
    try {
      return localStorage.getItem(KEY) ?? 'system';
    } catch {
      return 'system';
    }
  }

  /** @param {string} theme */
  function show(theme) {
    if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
    else delete root.dataset.theme;
  }

  show(kept());
  document.addEventListener('DOMContentLoaded', () => {
    const choice = document.getElementById('theme-choice');
    const select = document.getElementById('theme');
    if (!choice || !(select instanceof HTMLSelectElement)) return;
    select.value = root.dataset.theme ?? 'system';
    choice.hidden = false;
    // Another tab chose.
    addEventListener('storage', (event) => {
      if (event.key !== KEY) return;
      show(kept());
      select.value = root.dataset.theme ?? 'system';
    });
    select.addEventListener('change', () => {
      show(select.value);
      try {
        localStorage.setItem(KEY, select.value);
      } catch {
        // It lasts as long as the page.
      }
    });
  });
})();
