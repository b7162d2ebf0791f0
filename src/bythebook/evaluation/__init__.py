"""How good a book's tutor is: questions with what their author expects, asked, scored and shown. Nobody has to believe us."""
