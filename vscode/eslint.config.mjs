import tseslint from "typescript-eslint";

export default tseslint.config(...tseslint.configs.strictTypeChecked, {
  languageOptions: { parserOptions: { projectService: true } },
  rules: {
    // VS Code's Disposable is a class, and an interface to all that take one.
    "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
    "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
  },
});
