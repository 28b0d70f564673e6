"""Sixty secrets and sixty lookalikes, written before the detector was changed to see them.

None is a secret of anybody's: words are made up, keys are letters in a row. Tokens of known
services are written in two halves, because a scanner of this repository cannot know that.
"""

from __future__ import annotations

SECRETS: list[tuple[str, ...]] = [
    # Said in a sentence, a chat or a list.
    ("btw the gpg passphrase: marble otter Lantern 93", "marble otter Lantern 93"),
    ("Ben 14:02: pw for the guest laptop is Krokus_Feld8", "Krokus_Feld8"),
    ("passwords: Kiefer!2019, Birke!2020", "Kiefer!2019", "Birke!2020"),
    ("Old password was Larch-Hill-7, new one is Larch-Hill-8.", "Larch-Hill-7", "Larch-Hill-8"),
    ("- Jellyfin: anna / Seestern#42", "Seestern#42"),
    ("hey can you use tigerlily88 as password for the demo account", "tigerlily88"),
    ("Disk encryption passphrase (LUKS) = copper Lantern 7 osprey", "copper Lantern 7 osprey"),
    ("Keyring unlocks with the passphrase 'seven blue Kettles 12'", "seven blue Kettles 12"),
    ("The recovery key for the Mac is K7QP-3XWD-9RTN-M4HV-2LZC-8BYG",
     "K7QP-3XWD-9RTN-M4HV-2LZC-8BYG"),
    (
        "recovery phrase = gravel antenna puppy cloud ribbon tomato wisdom harvest lunar shell "
        "piano drift\nrecovery phrase = basket olive tennis marble quantum fiber slender canyon "
        "update bonus radar twist",
        "gravel antenna puppy", "basket olive tennis", "radar twist",
    ),
    ("The alarm panel takes 5093 and the shed padlock 118-204", "5093"),
    # Other languages.
    ("数据库密码是 Hai2kuo!Tian", "Hai2kuo!Tian"),
    ("公司 WiFi 的密码：lanmao1998", "lanmao1998"),
    ("パスワードは Sakura-0427 です", "Sakura-0427"),
    ("관리자 비밀번호는 Haneul!77 입니다", "Haneul!77"),
    ("Пароль от почты: Berezka_31", "Berezka_31"),
    ("пароль до сервера — Vyshnia2024", "Vyshnia2024"),
    ("كلمة المرور هي Zaytoon#55", "Zaytoon#55"),
    ("La contraseña del router es Girasol.2023", "Girasol.2023"),
    ("le mot de passe du NAS est Tournesol-64", "Tournesol-64"),
    ("A senha do banco de dados é Jacaranda#9", "Jacaranda#9"),
    ("la password del wifi è limoncello77", "limoncello77"),
    ("wachtwoord van de server: Tulpen&Kaas4", "Tulpen&Kaas4"),
    ("Hasło do panelu to Zubrowka_12", "Zubrowka_12"),
    ("Yönetici şifresi: Lale.1923x", "Lale.1923x"),
    ("Lösenordet till skrivaren är Fjäril-38", "Fjäril-38"),
    ("सर्वर का पासवर्ड Kamal@2022 है", "Kamal@2022"),
    # Files of programs.
    ("db.harbour.test:5432:orders:reporter:Moewe-und-Wal7", "Moewe-und-Wal7"),
    ("*:*:*:postgres:kranich55", "kranich55"),
    ("anna:$apr1$k3Qf8ZbT$" + "Wm1x9rTgYc0LpQe7uVhS2/", "Wm1x9rTgYc0LpQe7uVhS2/"),
    ("deploy:$2y$10$" + "abcdefghijklmnopqrstuvABCDEFGHIJKLMNOPQRSTUVWXYZ01234",
     "ABCDEFGHIJKLMNOPQRSTUVWXYZ01234"),
    ("root:$6$saltsalt$" + "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ./"
     "abcdefghijklmnopqrst:19700:0:99999:7:::", "abcdefghijklmnopqrstuvwxyz0123456789"),
    ('{"auths": {"registry.harbour.test": {"auth": "YW5uYTpTZWVzdGVybiM0Mg=="}}}',
     "YW5uYTpTZWVzdGVybiM0Mg"),
    ("//npm.harbour.test/:_authToken=3f9b2c7e-1d4a-4e86-b0f5-9a7c6d2e8b13", "9a7c6d2e8b13"),
    ("[client]\nuser = shop\npassword = Pelikan-im-Nebel", "Pelikan-im-Nebel"),
    ("define( 'DB_PASSWORD', 'Eisvogel%88' );", "Eisvogel%88"),
    ("<property name=\"password\" value=\"Reiher_31!\"/>", "Reiher_31!"),
    ("<Password>Kormoran-17</Password>", "Kormoran-17"),
    ("Server=sql.harbour.test;Database=shop;User Id=app;Password=Albatros!6;Encrypt=True",
     "Albatros!6"),
    ("jdbc:oracle:thin:app/Sturmvogel4@//db.harbour.test:1521/ORCL", "Sturmvogel4"),
    ("apiVersion: v1\nkind: Secret\ndata:\n  password: U3R1cm12b2dlbDQ=", "U3R1cm12b2dlbDQ="),
    ("[Interface]\nPrivateKey = " + "aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789aBcDeFg=",
     "aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789aBcDeFg="),
    ("WIFI:T:WPA;S:Leuchtturm;P:nebelhorn-31;;", "nebelhorn-31"),
    ("ansible_become_pass: Seeadler99", "Seeadler99"),
    ("AccountName=harbour;AccountKey=" + "q" + "W3rTy" * 16 + "uI==;EndpointSuffix=core",
     "W3rTyW3rTy"),
    # Headers and sessions.
    ("Cookie: theme=dark; sessionid=q8w7e6r5t4y3u2i1o0pasdfghjklzxcv",
     "q8w7e6r5t4y3u2i1o0pasdfghjklzxcv"),
    ("Set-Cookie: JSESSIONID=7F3A9C1E5B2D8064A1C3E5F708192A3B; Path=/; HttpOnly",
     "7F3A9C1E5B2D8064A1C3E5F708192A3B"),
    ("curl -b 'PHPSESSID=r4nd0ms3ss10n1dv4lu3abcdef' https://shop.harbour.test/cart",
     "r4nd0ms3ss10n1dv4lu3abcdef"),
    ("connect.sid=s%3AkLmNoPqRsTuVwXyZ0123456789abcdef.QwErTyUiOpAsDfGhJkLzXcVbNm1234567890",
     "kLmNoPqRsTuVwXyZ0123456789abcdef"),
    ("-H 'X-Api-Key: 5e1d9f0b7a3c8264'", "5e1d9f0b7a3c8264"),
    ("X-Auth-Token: nEbElHoRn.9f8e7d6c5b4a3", "nEbElHoRn.9f8e7d6c5b4a3"),
    # Keys of services.
    ("https://hooks.slack.com/services/" + "T0AB1CD2E/B3FG4HI5J/k6L7m8N9o0P1q2R3s4T5u6V7",
     "k6L7m8N9o0P1q2R3s4T5u6V7"),
    ("https://discord.com/api/webhooks/" + "112233445566778899/"
     + "aBcD_eFgHiJkLmNoPqRsTuVwXyZ0123456789-aBcDeFgHiJkLmNoPqRsTuVwXyZ0123",
     "aBcD_eFgHiJkLmNoPqRsTuVwXyZ0123456789"),
    ("SENDGRID=" + "SG." + "aBcDeFgHiJkLmNoPqRsTuV."
     + "wXyZ0123456789aBcDeFgHiJkLmNoPqRsTuVwXyZ012",
     "wXyZ0123456789aBcDeFgHiJkLmNoPqRsTuVwXyZ012"),
    ("AGE-SECRET-" + "KEY-1QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE6MU",
     "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
    ("vault token hvs." + "CAESIJaBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789",
     "CAESIJaBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789"),
    ("GOOGLE_CLIENT_SECRET: " + "GOCSPX-" + "aBcDeFgHiJkLmNoPqRsTuVwXyZ01",
     "aBcDeFgHiJkLmNoPqRsTuVwXyZ01"),
    ("dop_v1_" + "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"
     " is the droplet key", "0a1b2c3d4e5f60718293a4b5c6d7e8f9"),
    ("eth private key 0x"
     + "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"[::-1],
     "813263f3a10d864ea29728071692"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\n"
     "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAA\n"
     "MwAAAAtzc2gtZWQyNTUxOQAAACDx\n-----END OPENSSH PRIVATE KEY-----",
     "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ", "MwAAAAtzc2gtZWQyNTUxOQAAACDx"),
]  # fmt: skip
"""Texts, each followed by the values that nothing may keep."""

LOOKALIKES = [
    # Sentences about passwords, passphrases and codes.
    "For a laptop a passphrase of four words is enough.",
    "Scripts that call sshpass -p leave the password in the process list.",
    "sshpass -p is discouraged; use keys or ssh-agent instead.",
    "Anna said the passphrase should be long, easy to remember and never written down",
    "The recovery phrase has to be typed in the right order, all twelve words of it.",
    "Passwords: at least 12 characters, no reuse, no rotation",
    "passwords: hashed, salted, peppered",
    "The new password policy is stricter than the one of 2019.",
    "Ben forgot his password again and asked for a reset.",
    "The passphrase prompt comes twice when pinentry is missing.",
    "Which password manager do you use, Bitwarden or KeePassXC?",
    "Password field: type=password, autocomplete=current-password",
    "The PIN is four digits long and printed on the letter from the bank.",
    "We met at door 14 of hall 7, code of conduct posters everywhere",
    # Other languages.
    "密码是什么？",
    "密码必须至少包含八个字符。",
    "忘记密码请联系管理员",
    "パスワードは定期的に変更してください",
    "パスワードは8文字以上です",
    "비밀번호는 잊지 마세요",
    "Пароль должен быть длинным и сложным.",
    "Пароль: не менее 8 символов",
    "كلمة المرور قوية جدا",
    "La contraseña es demasiado corta.",
    "Le mot de passe est obligatoire pour tous les comptes",
    "A senha é enviada por e-mail",
    "La password è scaduta ieri",
    "Het wachtwoord is verlopen.",
    "Hasło to co najmniej dziesięć znaków",
    "Şifre en az 8 karakter olmalı",
    "Lösenordet är för kort",
    "Das Passwort ist abgelaufen und muss neu gesetzt werden.",
    # Files, formats and identifiers.
    "hostname:port:database:username:password",
    "The columns of .pgpass are host:port:database:user:password, one server a line.",
    "src/app.py:42:17:error:unexpected indent",
    "10:32:05:INFO:worker:started",
    "WIFI:T:nopass;S:Cafe Leuchtturm;;",
    "WIFI:T:WPA;S:<ssid>;P:<password>;; is the text of such a QR code",
    "Cookie: theme=dark; lang=en; consent=yes",
    "Set-Cookie: sessionid=; Max-Age=0; Path=/",
    "The JSESSIONID cookie is set by Tomcat, PHPSESSID by PHP and connect.sid by Express.",
    "sessionid = request.cookies.get('sessionid')",
    'auth = Auth(app, login="harbour.login")',
    '"auth": "required", "authType": "oauth2"',
    "auth: true\nregistry: registry.harbour.test",
    "bcrypt hashes begin with $2b$ and a cost, such as $2b$12$",
    "User Id=app;Integrated Security=true;Database=shop",
    "<input name=\"password\" type=\"password\" placeholder=\"Password\">",
    "public key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHarbourHarbourHarbourHarbourHarbour1"
    " anna@laptop",
    "PublicKey = aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789aBcDeFg=",
    "sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945",
    "integrity sha512-aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789"
    "aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789aBcDeFgHiJkLmNoPqRs==",
    "password_reset_token_ttl: 3600",
    "TOKENIZERS_PARALLELISM=false",
    "max_new_tokens=512, pad_token_id=50256, sep_token=[SEP]",
    "key: value pairs, one a line; secret: an object of the kind Secret",
    "tokens = tokenizer.encode(text, add_special_tokens=False)",
    "The secret of good bread is time: 18 hours at 5 degrees.",
    "Our secret Santa budget is 20 euros, and the word limit 500 tokens.",
    "https://harbour.test/reset?token=TOKEN_FROM_MAIL&lang=en",
]  # fmt: skip
